/** Translates between the errors of Connect and the statuses that the policies see. */
import { isRetryableNetworkError } from '../../core/classify/classify.ts'
import { safeGet } from '../../core/classify/safe-get.ts'
import { DeadlineExceededError } from '../../core/errors/errors.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import { PUSHBACK_KEY, parsePushback } from '../status/retry-metadata.ts'
import {
	CANCELLED,
	DEADLINE_EXCEEDED,
	INTERNAL,
	RESOURCE_EXHAUSTED,
	type StatusCode,
	UNAVAILABLE,
} from '../status/status.ts'
import { GrpcStatusError, setOversized, statusOf } from '../status/status-error.ts'
import type { ConnectModule, RpcError, RpcErrorClass } from './connect-types.ts'

/** Connect reports trailers of unary calls with this prefix if the response has no body of its protocol. */
const TRAILER_PREFIX = 'trailer-'

/** HTTP/2: the server states that it has not processed the stream. Node has the code only in the message. */
const STREAM_REFUSED = /REFUSED_STREAM/
const MAX_CAUSES = 9

/** What Node was doing if there was no connection yet. */
const CONNECTING: ReadonlySet<unknown> = /* @__PURE__ */ new Set(['connect', 'getaddrinfo'])

export class RpcErrors {
	readonly #ConnectError: RpcErrorClass

	/** `connect` is the module that the user has passed. */
	constructor(connect: ConnectModule) {
		if (typeof connect?.ConnectError !== 'function')
			invalidArgument('connect', connect, "the module: import * as connect from '@connectrpc/connect'")
		this.#ConnectError = connect.ConnectError as unknown as RpcErrorClass
	}

	create(message: string, code: StatusCode, cause?: unknown): RpcError {
		return new this.#ConnectError(message, code, undefined, undefined, cause)
	}

	/** Returns the status of a failed attempt. Its cause is the error that the caller receives. */
	toStatus(thrown: unknown, isInherited: (code: StatusCode) => boolean): GrpcStatusError {
		const error = this.#ConnectError.from(thrown)
		const { rawMessage, metadata } = error
		const code = isLost(error) || this.isRefused(error) ? UNAVAILABLE : error.code
		const values = [PUSHBACK_KEY, TRAILER_PREFIX + PUSHBACK_KEY].map((name) => metadata.get(name))
		const pushbackMs = parsePushback(values.filter((value) => value !== null))
		const failure = new GrpcStatusError(
			{ code, details: rawMessage, metadata, pushbackMs, isInherited: isInherited(code) },
			{ cause: error },
		)
		const isLimit = code === RESOURCE_EXHAUSTED && !error.isWireError
		if (error.isOversized || (isLimit && rawMessage.includes('writeMaxBytes'))) setOversized(failure)
		return failure
	}

	/** Returns the status of a call that the caller has aborted, or Connect because its timeout has passed. */
	toCancellation(reason: unknown): GrpcStatusError {
		const isError = reason instanceof this.#ConnectError
		const isExpired = isError && reason.code === DEADLINE_EXCEEDED
		// Connect passes its own error to the caller, whatever an interceptor throws.
		if (isExpired) reason.cause ??= new DeadlineExceededError()
		const error = isError ? reason : this.create('the call was cancelled', CANCELLED, reason)
		const { code, rawMessage, metadata } = error
		return new GrpcStatusError(
			{ code: isExpired ? code : CANCELLED, details: rawMessage, metadata },
			{ cause: error },
		)
	}

	/** Returns the error that the caller receives. */
	toCaller(failure: unknown): RpcError {
		if (failure instanceof this.#ConnectError) return failure
		if (failure instanceof GrpcStatusError) {
			const { cause, details, code } = failure
			return cause instanceof this.#ConnectError ? cause : this.create(details, code, cause)
		}
		const { code, details } = statusOf(failure)
		return this.create(details, code, failure)
	}

	/** Returns the error of a handler; undefined if it is another error, which Connect reports as Internal. */
	find(thrown: unknown): RpcError | undefined {
		try {
			return thrown instanceof this.#ConnectError ? thrown : undefined
		} catch (cause) {
			// Connect's check reads the error, and its getters may throw. Connect would fail in the same way.
			return this.create('internal error', INTERNAL, cause)
		}
	}

	/** Returns the error with this pushback. Connect does not send the metadata of a received error. */
	withPushback(error: RpcError, pushback: string): RpcError {
		const { rawMessage, code, details, isWireError, cause = error } = error
		const metadata = isWireError ? new Headers() : new Headers(error.metadata)
		metadata.set(PUSHBACK_KEY, pushback)
		return new this.#ConnectError(rawMessage, code, metadata, details, cause)
	}

	/** Returns true if the connection was lost in flight; `isReading`: after a message of a response stream. */
	isConnectionLost(thrown: unknown, isReading: boolean): boolean {
		const error = this.#ConnectError.from(thrown)
		// If a stream breaks off, Connect reports an error of its own without a cause. Before 2.2 it does not say
		// whether an error is its own.
		if (isReading) return error.isWireError === false && error.code !== DEADLINE_EXCEEDED
		return error.isConnectionLost || (isLost(error) && !CONNECTING.has(safeGet(error.cause, 'syscall')))
	}

	/** Returns true if the server states that it has not processed the request. */
	isRefused(thrown: unknown): boolean {
		let failure = thrown
		for (let depth = 0; failure && depth < MAX_CAUSES; depth++) {
			// The message of a status comes from the application of the server.
			if (failure instanceof this.#ConnectError && failure.isWireError) return false
			if (STREAM_REFUSED.test(String(safeGet(failure, 'message')))) return true
			failure = safeGet(failure, 'cause')
		}
		return false
	}
}

/**
 * Connect for Node reports a lost connection as Aborted or Internal, and Connect for browsers as Unknown. In
 * gRPC it is UNAVAILABLE, which is the code that service configs name.
 */
const isLost = ({ cause, isWireError }: RpcError): boolean =>
	!isWireError && cause !== undefined && isRetryableNetworkError(cause)
