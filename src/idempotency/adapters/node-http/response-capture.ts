/**
 * Captures what a handler writes to a Node response, and holds the end of the response back until it has been
 * stored: a client that has received everything can rely on the replay. Bodies with a content-length end with
 * their last byte, so they are held back completely; others are streamed while they are captured.
 *
 * The methods of the response itself are replaced, because frameworks and middleware keep the object. What
 * was there before does the real work, so that its errors, callbacks and return values stay, and middleware
 * registered earlier (compression) sees what it would see without this.
 *
 * If the client disconnects, the handler continues, because its effect has happened and the client will
 * repeat the request. `pipe` and `pipeline` stop when the response emits `close`, so the event is held back
 * until the end, and writes are accepted. If the lease ends first, the handler gets the event.
 */
import type { IdempotencyClaim } from '../../engine/claim.ts'
import type { IdempotencyEngine } from '../../engine/engine.ts'
import type { IdempotencyRequest } from '../../engine/options.ts'
import { BodyCollector } from '../../response/body-collector.ts'
import { isStored, storedResponse } from '../../response/storage-rules.ts'
import { type Chunk, copiedBytes, isChunk, type NodeResponse, type NodeSocket } from './node-types.ts'
import { sentHeaders } from './sent-headers.ts'

type Method = (...args: unknown[]) => unknown
type Callback = (error?: unknown) => void
type Args = readonly unknown[]
type RequestLine = Pick<IdempotencyRequest, 'method' | 'path'>

interface Head {
	readonly status: number
	readonly headers: readonly (readonly [name: string, value: string])[]
	readonly hasBody: boolean
}

export class ResponseCapture {
	readonly #engine: IdempotencyEngine<unknown, never>
	readonly #claim: IdempotencyClaim
	readonly #failingSocket: NodeSocket | undefined
	readonly #response: NodeResponse
	readonly #request: RequestLine
	readonly #native: Readonly<Record<'write' | 'end' | 'writeHead' | 'emit' | 'destroy', Method>>
	readonly #captured: BodyCollector
	#head: Head | undefined
	/** The body, if it is held back completely. */
	#held: BodyCollector | undefined
	/** `ending`: the handler has ended the response, and the store is being asked. `done`: all is passed on. */
	#state: 'open' | 'ending' | 'done' = 'open'
	#settled: Promise<void> = Promise.resolve()
	readonly #lateCalls: (() => void)[] = []
	readonly #heldEvents: Args[] = []
	readonly #restores: (() => void)[] = []
	readonly #callbacks = new Set<Callback>()
	#isDisconnected = false
	#needsDrain = false

	/** `failingSocket` is set if the framework destroys the socket when a handler throws after the head. */
	constructor(
		engine: IdempotencyEngine<unknown, never>,
		claim: IdempotencyClaim,
		response: NodeResponse,
		request: RequestLine,
		failingSocket?: NodeSocket | undefined,
	) {
		this.#engine = engine
		this.#claim = claim
		this.#response = response
		this.#failingSocket = failingSocket
		this.#request = request
		this.#captured = new BodyCollector(engine.settings.maxBodyBytes)
		const native = (name: string): Method => {
			const method = Reflect.get(response, name) as Method
			return (...args) => method.apply(response, args)
		}
		this.#native = {
			write: native('write'),
			end: native('end'),
			writeHead: native('writeHead'),
			emit: native('emit'),
			destroy: native('destroy'),
		}
		if (response.headersSent) this.#setHead(response.statusCode, sentHeaders(response.getHeaders(), []))
		Object.assign(response, {
			write: (...args: Args) => this.#write(args),
			end: (...args: Args) => this.#end(args),
			writeHead: (...args: Args) => this.#writeHead(args),
			emit: (...args: Args) => this.#emit(args),
			destroy: (...args: Args) => this.#destroy(args),
		})
		const { destroyed, closed, stream } = response
		if (destroyed || closed || stream?.closed) this.#onDisconnect()
	}

	/** The handler threw: releases the key. What it has ended before counts. */
	async fail(): Promise<void> {
		if (this.#state !== 'open') return this.#settled
		await this.#engine.claims.tryRelease(this.#claim)
		if (this.#state === 'open') this.#finish(() => {})
	}

	#writeHead(args: Args): unknown {
		if (this.#state === 'done') return this.#native.writeHead(...args)
		// Before the call: what earlier middleware adds now, it will add to the replay too.
		const headers = sentHeaders(this.#response.getHeaders(), args)
		const result = this.#native.writeHead(...args)
		this.#setHead(Number(args[0]), headers)
		return result
	}

	#setHead(status: number, headers: Head['headers']): Head {
		const hasBody = this.#request.method !== 'HEAD' && status !== 204 && status !== 304
		this.#head = { status, headers, hasBody }
		const length = headers.find(([name]) => name === 'content-length')?.[1]
		if (hasBody && Number(length ?? Infinity) <= this.#engine.settings.maxBodyBytes)
			this.#held = new BodyCollector(Infinity)
		return this.#head
	}

	/** Writes the head if the handler has not. */
	#requireHead(): Head {
		if (!this.#head) this.#response.writeHead(this.#response.statusCode)
		return this.#head ?? this.#setHead(this.#response.statusCode, [])
	}

	#write(args: Args): unknown {
		if (this.#state === 'ending') {
			this.#lateCalls.push(() => this.#native.write(...args))
			return false
		}
		const { chunk, encoding, callback } = chunkOf(args)
		// Something that Node rejects.
		if (this.#state === 'done' || chunk === undefined) return this.#native.write(...args)
		if (!this.#requireHead().hasBody) return this.#native.write(...args)
		if (this.#held || !this.#captured.isTooLarge) this.#capture(chunk, encoding)
		if (this.#held || this.#isDisconnected) {
			if (callback) queueMicrotask(callback)
			return true
		}
		const isAccepted = this.#native.write(chunk, encoding, callback && this.#tracked(callback))
		if (!isAccepted) this.#needsDrain = true
		return isAccepted
	}

	#capture(chunk: Chunk, encoding: unknown): void {
		const bytes = copiedBytes(chunk, encoding)
		this.#captured.add(bytes)
		if (!this.#captured.isTooLarge) this.#held?.add(bytes)
		else this.#unhold()
	}

	/** The body is longer than its content-length. */
	#unhold(): void {
		const held = this.#held?.joined()
		this.#held = undefined
		if (held && held.length > 0 && !this.#isDisconnected) this.#native.write(held)
	}

	/** A callback that a broken connection does not lose, and that gets no error of it. */
	#tracked(callback: Callback): Callback {
		const tracked: Callback = (error) => {
			if (this.#callbacks.delete(tracked)) callback(this.#state === 'done' ? error : undefined)
		}
		this.#callbacks.add(tracked)
		return tracked
	}

	#end(args: Args): unknown {
		if (this.#state === 'ending') {
			this.#lateCalls.push(() => this.#native.end(...args))
			return this.#response
		}
		const { chunk, encoding, callback } = chunkOf(args)
		const isEmpty = typeof args[0] === 'function' || !args[0]
		if (this.#state === 'done' || (chunk === undefined && !isEmpty)) return this.#native.end(...args)
		const bytes = chunk ? copiedBytes(chunk, encoding) : new Uint8Array(0)
		if (!this.#head) this.#declareLength(bytes.length)
		const head = this.#requireHead()
		const isKept = isStored(this.#engine.settings, { status: head.status, ...this.#request })
		if (head.hasBody) this.#captured.add(bytes)
		this.#held?.add(bytes)
		const last = this.#held?.joined() ?? bytes
		this.#settle(this.#store(head, isKept), ['writableEnded', 'finished'], () =>
			this.#native.end(last.length > 0 ? last : undefined, undefined, callback),
		)
		return this.#response
	}

	/** As Node does for a body that is passed to `end`. */
	#declareLength(bytes: number): void {
		const { statusCode } = this.#response
		const isFramed = ['content-length', 'transfer-encoding', 'trailer'].some((name) =>
			this.#response.hasHeader(name),
		)
		if (isFramed || this.#request.method === 'HEAD' || statusCode === 204 || statusCode === 304) return
		this.#response.setHeader('content-length', String(bytes))
	}

	async #store(head: Head, isKept: boolean): Promise<void> {
		// A transaction has already stored the response.
		if (this.#claim.hasEnded) return
		const { claims, settings } = this.#engine
		if (!isKept) return claims.tryRelease(this.#claim)
		const body = head.hasBody ? this.#captured.joined() : new Uint8Array(0)
		return claims.tryComplete(this.#claim, body && storedResponse(head, body, settings.allowedHeaders))
	}

	#destroy(args: Args): unknown {
		if (this.#state === 'done') return this.#native.destroy(...args)
		if (this.#state === 'ending') this.#lateCalls.push(() => this.#native.destroy(...args))
		else {
			this.#settle(this.#engine.claims.tryRelease(this.#claim), ['destroyed'], () =>
				this.#native.destroy(...args),
			)
		}
		return this.#response
	}

	/** Ends the response after the store was asked. Until then the properties say that it has ended. */
	#settle(stored: Promise<unknown>, properties: readonly string[], end: () => void): void {
		this.#state = 'ending'
		for (const name of properties) this.#restores.push(override(this.#response, name, true))
		this.#settled = stored.then(() => this.#finish(end))
	}

	#finish(end: () => void): void {
		this.#state = 'done'
		for (const restore of this.#restores.reverse()) restore()
		try {
			end()
			for (const call of this.#lateCalls) call()
		} catch (error) {
			this.#native.destroy(error)
		}
		for (const event of this.#heldEvents) this.#native.emit(...event)
	}

	#emit(args: Args): unknown {
		const [event] = args
		if (event === 'drain') this.#needsDrain = false
		// HTTP/2's response also emits `finish` when the stream is reset.
		if (this.#state === 'done' || (event !== 'close' && event !== 'finish')) return this.#native.emit(...args)
		this.#heldEvents.push(args)
		if (event === 'close') {
			this.#onDisconnect()
			if (this.#state === 'open' && this.#head && this.#wasCutOffHere()) void this.fail()
		}
		return true
	}

	/**
	 * Express destroys the socket if a handler throws after the head. A client that leaves ends the stream or
	 * breaks it. A server that closes, and the timeout of an idle socket, end connections whose handlers still
	 * run.
	 */
	#wasCutOffHere(): boolean {
		const { readableEnded, errored, timeout, server } = this.#failingSocket ?? {}
		return server?.listening === true && !readableEnded && !errored && !timeout
	}

	#onDisconnect(): void {
		this.#isDisconnected = true
		for (const name of ['destroyed', 'closed', 'writableNeedDrain'])
			this.#restores.push(override(this.#response, name, false))
		for (const callback of this.#callbacks) queueMicrotask(callback)
		if (this.#needsDrain) queueMicrotask(() => this.#native.emit('drain'))
		this.#claim.signal.addEventListener('abort', () => {
			if (this.#state === 'open') this.#finish(() => {})
		})
		if (this.#claim.signal.aborted && this.#state === 'open') this.#finish(() => {})
	}
}

/** The arguments of `write` and `end`. The chunk is undefined if Node rejects its type. */
function chunkOf([given, second, third]: Args) {
	const chunk = isChunk(given) ? given : undefined
	const encoding = typeof second === 'function' ? undefined : second
	const callback = [given, second, third].find((arg): arg is Callback => typeof arg === 'function')
	return { chunk, encoding, callback }
}

/** Makes a property read as `value`, whatever it is set to. Returns a function that restores it. */
function override(target: object, name: string, value: unknown): () => void {
	const own = Object.getOwnPropertyDescriptor(target, name)
	let latest = own?.value
	Object.defineProperty(target, name, {
		configurable: true,
		enumerable: own?.enumerable ?? false,
		get: () => value,
		set: (given) => {
			latest = given
		},
	})
	return () => {
		Reflect.deleteProperty(target, name)
		if (own) Object.defineProperty(target, name, 'value' in own ? { ...own, value: latest } : own)
	}
}
