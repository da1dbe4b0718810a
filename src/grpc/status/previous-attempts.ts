/** The metadata key that tells the server how many attempts of the call came before. */
export const PREVIOUS_ATTEMPTS_KEY = 'grpc-previous-rpc-attempts'
