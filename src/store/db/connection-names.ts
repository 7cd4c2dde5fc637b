// The application_name of the connections of a process that serves, as PostgreSQL lists them.

export const API_CONNECTION_NAME = "dues api";
export const WORKER_CONNECTION_NAME = "dues worker";
export const LISTEN_CONNECTION_NAME = "dues listen";
