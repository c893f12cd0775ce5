//! plumb-tests
