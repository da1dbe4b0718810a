/** These change nothing on the server, so that two at once do no harm either. */
const SAFE = /^(GET|HEAD|OPTIONS|TRACE|QUERY)$/
/** Of these a second one changes nothing any more. */
const IDEMPOTENT = /^(GET|HEAD|OPTIONS|TRACE|QUERY|PUT|DELETE)$/

export const isSafeMethod = (method: string): boolean => method === 'GET' || SAFE.test(method)
export const isIdempotentMethod = (method: string): boolean => IDEMPOTENT.test(method)
