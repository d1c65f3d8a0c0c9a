"""Studies larger than memory: split by case, evaluated shard by shard, resumed where they stopped, on any machines."""
