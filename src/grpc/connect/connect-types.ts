/** The parts of @connectrpc/connect that are used, as structural types: the package never imports it. */

/** An error of Connect: what its callers catch and its handlers throw. */
export interface RpcError extends Error {
	readonly code: number
	/** The message without the name of the code. */
	readonly rawMessage: string
	/** Headers and trailers. */
	readonly metadata: Headers
	readonly details: readonly unknown[]
	cause?: unknown
	/** True if it was received and not created in this process. Undefined before Connect 2.2. */
	readonly isWireError?: boolean
	/** Set by libraries other than Connect, whose errors have no causes. */
	readonly isConnectionLost?: boolean
	readonly isOversized?: boolean
}

/** The class `ConnectError`. */
export interface RpcErrorClass {
	new (
		message: string,
		code: number,
		metadata?: Headers | Record<string, string>,
		details?: readonly unknown[],
		cause?: unknown,
	): RpcError
	/** Returns the error itself, or one with the given error as its cause. */
	from(reason: unknown, code?: number): RpcError
	[Symbol.hasInstance](value: unknown): value is RpcError
}

/** The part of the module that the user passes: `import * as connect from '@connectrpc/connect'`. */
export interface ConnectModule {
	readonly ConnectError: abstract new (...args: never[]) => Error
}

/** A request, as interceptors see it. */
export interface RpcRequest {
	readonly url: string
	readonly service: { readonly typeName: string }
	readonly method: { readonly name: string }
	/** True if `message` is a stream of messages. */
	readonly stream: boolean
	readonly message: unknown
	readonly header: Headers
	readonly signal: AbortSignal
}

/** A response, as interceptors see it. */
export interface RpcResponse {
	/** True if `message` is a stream of messages. */
	readonly stream: boolean
	readonly message: unknown
	readonly header: Headers
	readonly trailer: Headers
}

/** The next interceptor, or the transport or handler itself. */
export type RpcNext = (request: RpcRequest) => Promise<RpcResponse>

/** An interceptor of Connect, for clients or servers: its type `Interceptor` without importing it. */
export type ConnectInterceptor = <Next extends (request: never) => Promise<unknown>>(next: Next) => Next
