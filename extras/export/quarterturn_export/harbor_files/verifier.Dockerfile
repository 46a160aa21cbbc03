# The verifier's container; its context is tests/.
FROM quarterturn-harbor
COPY test.sh task.json /tests/
