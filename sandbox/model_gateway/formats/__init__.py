"""Wire formats of model interfaces, as tables of what a document may hold."""
