/** The values of the contract, in a folder of their own: the server imports them, and the contract's folder imports the server. */

/** All paths are below this segment, so that the base path need not be known. */
export const API_SEGMENT = '_yaoki'

/** The header of a write that repeats the token of the page. */
export const TOKEN_HEADER = 'x-yaoki-token'

/** Changes with the contract: `yaoki top` may have another version than the server. */
export const OVERVIEW_FORMAT = 1
