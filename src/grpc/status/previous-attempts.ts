/** The metadata key with the number of earlier attempts of the call. */
export const PREVIOUS_ATTEMPTS_KEY = 'grpc-previous-rpc-attempts'
