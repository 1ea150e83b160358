"""What several backbones share: patches, windows, feed-forward networks."""
