"""What is public: tasks that everybody may read, and the runs on them, as one set of records.

`sources` reads a release, a dev set, or a run on a dev set, and refuses everything else; exports, measures and trace
pages are made of its `records` and see nothing else.
"""
