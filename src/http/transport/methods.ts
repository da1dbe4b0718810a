/** Methods that change nothing on the server, so that two concurrent requests are harmless. */
const SAFE = /^(GET|HEAD|OPTIONS|TRACE|QUERY)$/
/** Methods of which a second request changes nothing more. */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|QUERY|PUT|DELETE)$/

export const isSafeMethod = (method: string): boolean => method === 'GET' || SAFE.test(method)
export const isIdempotentMethod = (method: string): boolean => IDEMPOTENT.test(method)
