/** What the Connect test server can do with a call. A step is an async generator: what it yields is sent. */
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect'
import type { Pairs } from '../support/server-steps.ts'
import type { ItemInit, ItemMessage, MethodName } from '../support/users.ts'

/** What the server saw of one call. */
export interface SeenCall {
	readonly method: MethodName
	readonly context: HandlerContext
	readonly header: Headers
	/** `grpc-previous-rpc-attempts` as sent; undefined without it. */
	readonly previousAttempts: string | undefined
	/** The timeout as Connect has read it, at the start of the call. */
	readonly timeoutMs: number | undefined
	/** The messages received so far. */
	readonly messages: ItemMessage[]
	isHalfClosed: boolean
	/** The client cancelled, disconnected, or the deadline passed, before the step had ended the call. */
	isCancelled: boolean
	/** The step has ended: returned, failed, or was stopped. */
	isEnded: boolean
}

export interface Exchange {
	readonly seen: SeenCall
	/** The messages of the client, recorded when they are read. */
	readonly requests: AsyncIterable<ItemMessage>
	/** Reads all messages of the client. */
	readAll(): Promise<void>
	/** Resolves when the call is cancelled or has ended. */
	readonly over: Promise<void>
}

export type Step = (exchange: Exchange) => AsyncGenerator<ItemInit, void>

const add = (target: Headers, pairs: Pairs) => {
	for (const [name, value] of Object.entries(pairs)) target.set(name, value)
}

/** Responds with OK after the half-close. Kinds with one response send the last item. */
export function reply(
	items: ItemInit | readonly ItemInit[],
	options: { headers?: Pairs; trailers?: Pairs; after?: PromiseLike<unknown> } = {},
): Step {
	const { headers = {}, trailers = {}, after } = options
	return async function* ({ seen, readAll }) {
		await readAll()
		await after
		add(seen.context.responseHeader, headers)
		add(seen.context.responseTrailer, trailers)
		yield* [items].flat()
	}
}

interface FailOptions {
	readonly message?: string
	/** Sent as metadata of the error. */
	readonly metadata?: Pairs
	readonly trailers?: Pairs
	/** The value of `grpc-retry-pushback-ms`. */
	readonly pushback?: string
	/** Sent before the failure, by kinds with several responses. */
	readonly items?: readonly ItemInit[]
	/** False: fails immediately, without reading the messages of the client. Default true. */
	readonly readsAll?: boolean
	readonly after?: PromiseLike<unknown>
}

/** Ends the call with this code. */
export function fail(code: Code, options: FailOptions = {}): Step {
	const { message = 'the test server fails', metadata = {}, trailers = {}, pushback, items = [] } = options
	return async function* ({ seen, readAll }) {
		if (options.readsAll !== false) await readAll()
		await options.after
		add(seen.context.responseTrailer, trailers)
		yield* items
		const pairs = pushback === undefined ? metadata : { ...metadata, 'grpc-retry-pushback-ms': pushback }
		throw new ConnectError(message, code, pairs)
	}
}

/** Sends these messages and never ends. */
export const sendThenHang = (items: readonly ItemInit[] = []): Step =>
	async function* ({ over }) {
		yield* items
		await over
		throw new ConnectError('the call is over', Code.Aborted)
	}

/** Never responds. */
export const hang = (): Step => sendThenHang()

/** Echoes each message of the client. */
export const echo = (): Step =>
	async function* ({ requests }) {
		for await (const { text, count } of requests) yield { text, count }
	}
