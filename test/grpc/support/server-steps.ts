/** What the test server can do with a call. A step is a function, so tests write their own where these do not fit. */
import { Metadata } from '@grpc/grpc-js'
import type { Exchange } from './exchange.ts'
import type { ItemInit } from './users.ts'

export type Step = (exchange: Exchange) => unknown

export type Pairs = Readonly<Record<string, string>>

function metadataOf(pairs: Pairs): Metadata {
	const metadata = new Metadata()
	for (const [name, value] of Object.entries(pairs)) metadata.set(name, value)
	return metadata
}

interface ReplyOptions {
	/** Default: none, so headers are sent with the first message. */
	readonly headers?: Pairs
	readonly trailers?: Pairs
	/** The response is sent after this. Default: immediately. */
	readonly after?: PromiseLike<unknown>
}

/** Responds with OK after the half-close. Kinds with one response send the last item. */
export function reply(items: ItemInit | readonly ItemInit[], options: ReplyOptions = {}): Step {
	const { headers, trailers = {}, after } = options
	return async (exchange) => {
		await exchange.halfClosed
		await after
		if (exchange.seen.isCancelled) return
		if (headers) exchange.sendHeaders(metadataOf(headers))
		for (const item of [items].flat()) exchange.send(item)
		exchange.end(metadataOf(trailers))
	}
}

interface FailOptions {
	readonly details?: string
	readonly trailers?: Pairs
	/** The value of `grpc-retry-pushback-ms`. */
	readonly pushback?: string
	/** Sent before the failure, which then no longer is a trailers-only response. */
	readonly headers?: Pairs
	/** Sent before the failure, by kinds with several responses. */
	readonly items?: readonly ItemInit[]
	/** False: fails immediately, without reading the messages of the client. Default true. */
	readonly readsAll?: boolean
	readonly after?: PromiseLike<unknown>
}

/** Ends the call with this status code. */
export function fail(code: number, options: FailOptions = {}): Step {
	const {
		details = 'the test server fails',
		trailers = {},
		pushback,
		headers,
		items = [],
		readsAll = true,
	} = options
	return async (exchange) => {
		if (readsAll) await exchange.halfClosed
		await options.after
		if (exchange.seen.isCancelled) return
		if (headers) exchange.sendHeaders(metadataOf(headers))
		for (const item of items) exchange.send(item)
		const pairs = pushback === undefined ? trailers : { ...trailers, 'grpc-retry-pushback-ms': pushback }
		exchange.fail(code, details, metadataOf(pairs))
	}
}

/** Reads, and never responds. */
export const hang = (): Step => () => {}

/** Sends headers and these messages, and then nothing. */
export const sendThenHang =
	(items: readonly ItemInit[] = [], headers: Pairs = {}): Step =>
	(exchange) => {
		exchange.sendHeaders(metadataOf(headers))
		for (const item of items) exchange.send(item)
	}
