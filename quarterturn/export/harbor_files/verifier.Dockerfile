# The verifier's container; its context is tests/.
FROM quarterturn-world
COPY test.sh task.json /tests/
