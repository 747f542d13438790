"""The service and the planner's desk: a policy over HTTP and on a page."""
