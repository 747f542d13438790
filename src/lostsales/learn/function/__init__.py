"""Function classes of Q: kernels, feature maps, ridge regression, posterior variance."""
