"""What a log can teach: identifiability and tests of the assumptions."""
