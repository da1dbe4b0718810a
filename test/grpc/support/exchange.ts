/** One call of the test server in the hands of a step: the four kinds of grpc-js's handlers behind one interface. */
import type { EventEmitter } from 'node:events'
import type {
	Metadata,
	ServerDuplexStream,
	ServerReadableStream,
	ServerUnaryCall,
	ServerWritableStream,
	sendUnaryData,
} from '@grpc/grpc-js'
import type { Item, ItemInit, MethodName } from './users.ts'

/** What the server saw of one call. */
export interface SeenCall {
	/** Counted from 1 since the start or the last `play`. */
	readonly n: number
	readonly method: MethodName
	readonly metadata: Metadata
	/** `grpc-previous-rpc-attempts` as sent; undefined without it. */
	readonly previousAttempts: string | undefined
	/** The deadline as grpc-js has read it, in milliseconds since 1970; `Infinity` without one. */
	readonly deadline: number
	/** The messages received so far. */
	readonly messages: Item[]
	isHalfClosed: boolean
	/** The client cancelled, disconnected, or the deadline passed, before the step had ended the call. */
	isCancelled: boolean
	/** The step has ended the call. */
	isEnded: boolean
}

type StreamCall = ServerWritableStream<Item, ItemInit> | ServerDuplexStream<Item, ItemInit>

/** The call object that a handler of grpc-js receives. */
export type HandlerCall = ServerUnaryCall<Item, ItemInit> | ServerReadableStream<Item, ItemInit> | StreamCall

export class Exchange {
	readonly seen: SeenCall
	readonly call: HandlerCall
	/** Resolves when the client has half-closed, or the call is over. */
	readonly halfClosed: Promise<void>
	/** Resolves when the call is cancelled, or has ended. */
	readonly over: Promise<void>
	readonly #callback: sendUnaryData<ItemInit> | undefined
	readonly #changed: () => void
	#response: ItemInit = {}

	constructor(
		seen: SeenCall,
		call: HandlerCall,
		callback: sendUnaryData<ItemInit> | undefined,
		changed: () => void,
	) {
		this.seen = seen
		this.call = call
		this.#callback = callback
		this.#changed = changed
		this.over = new Promise((resolve) => {
			// grpc-js emits it after every call, also after one that the handler has ended.
			const emitter: EventEmitter = call
			emitter.once('cancelled', () => {
				if (!seen.isEnded) seen.isCancelled = true
				changed()
				resolve()
			})
		})
		this.halfClosed = 'request' in call ? Promise.resolve() : this.#readAll(call)
	}

	sendHeaders(headers: Metadata): void {
		this.call.sendMetadata(headers)
	}

	/** Sends a message. Kinds with one response send the last one with `end`. */
	send(item: ItemInit): void {
		if (this.#callback) this.#response = item
		else this.#stream.write(item)
	}

	end(trailers?: Metadata): void {
		this.seen.isEnded = true
		if (this.#callback) this.#callback(null, this.#response, trailers)
		else this.#stream.end(trailers)
		this.#changed()
	}

	fail(code: number, details: string, trailers?: Metadata): void {
		this.seen.isEnded = true
		const failure = {
			code,
			details,
			message: details,
			name: 'Error',
			...(trailers && { metadata: trailers }),
		}
		if (this.#callback) this.#callback(failure)
		else this.#stream.emit('error', failure)
		this.#changed()
	}

	get #stream(): StreamCall {
		return this.call as StreamCall
	}

	#readAll(call: ServerReadableStream<Item, ItemInit> | ServerDuplexStream<Item, ItemInit>): Promise<void> {
		const { seen } = this
		call.on('data', (item: Item) => {
			seen.messages.push(item)
			this.#changed()
		})
		return new Promise((resolve) => {
			call.once('end', () => {
				seen.isHalfClosed = true
				this.#changed()
				resolve()
			})
			call.once('close', resolve)
		})
	}
}
