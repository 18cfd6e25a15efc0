"""Templates: attention, recurrent layers and bags of embeddings."""
