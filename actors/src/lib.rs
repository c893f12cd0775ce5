//! plumb-actors
