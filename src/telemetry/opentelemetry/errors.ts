import { safeGet } from '../../core/classify/safe-get.ts'
import { describeError, reduceUrls } from '../../core/events/error-facts.ts'

/** The conventions ask for this value if the error has no name of a limited set. */
const OTHER_ERROR = '_OTHER'
const SHORT_NAME = /^[\w.:-]{1,80}$/
/** Longer stacks are truncated. */
const MAX_STACK_LENGTH = 8_000

/** Returns the HTTP status of a response, or of the error that carries one. */
export function statusOf(result: unknown): number | undefined {
	const status =
		safeGet(result, 'statusCode') ??
		safeGet(result, 'status') ??
		safeGet(safeGet(result, 'response'), 'status')
	return typeof status === 'number' && status >= 100 && status < 1_000 ? status : undefined
}

/** A status of 400 or more is an error of the client. */
export const isErrorStatus = (status: number): boolean => status >= 400 && status < 600

/**
 * Returns the value of `error.type`: the HTTP status, the code of a system or driver, such as `ECONNRESET`,
 * or the name of the error. Never a message.
 */
export function errorTypeOf(error: unknown): string {
	const status = statusOf(error)
	if (status !== undefined && isErrorStatus(status)) return `${status}`
	const { errorType } = describeError(error)
	const code = safeGet(error, 'code') ?? safeGet(safeGet(error, 'cause'), 'code')
	// The names of our own errors are as precise as their codes.
	const hasOwnCode = typeof code === 'string' && !code.startsWith('YAOKI_')
	const type = hasOwnCode && SHORT_NAME.test(code) ? code : errorType
	return SHORT_NAME.test(type) ? type : OTHER_ERROR
}

/** Returns the error for `recordException`, without the secrets of URLs in its message and stack. */
export function exceptionOf(error: unknown): { name: string; message: string; stack?: string } {
	const { errorType, errorMessage } = describeError(error)
	const stack = safeGet(error, 'stack')
	return {
		name: errorType,
		message: errorMessage,
		...(typeof stack === 'string' && { stack: reduceUrls(stack.slice(0, MAX_STACK_LENGTH)) }),
	}
}
