/**
 * One request and its response. The states are: waiting for a connection, checked and sending, head received,
 * settled. Everything before the head of the response fails the request. Everything after it does not,
 * because the receiver has answered: a delivery that failed because of a broken body would be sent again. The
 * body is only an excerpt for the attempt log, and ends with its limits of size and time, or with the signal.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { CancelTimer, Runtime } from '../../../core/runtime/runtime.ts'
import { portOf, urlForError } from './check-url.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { RejectedAddress } from './guarded-lookup.ts'
import { nameOfHost } from './host-names.ts'
import { WebhookUrlError } from './webhook-url-error.ts'

/** A request of a guarded client. It is always a POST. */
export interface GuardedRequest {
	readonly url: string | URL
	/** `host`, `content-length` and the headers of a connection are set by the client. */
	readonly headers: Readonly<Record<string, string>>
	/** Sent byte for byte, because it is signed. */
	readonly body: Uint8Array
	/** Ends the request immediately, in every phase. */
	readonly signal: AbortSignal
	/**
	 * Called when the head of the response has arrived. From then on the receiver has answered, and the
	 * request no longer fails. It must not throw.
	 */
	readonly onStatus?: ((status: number) => void) | undefined
}

export interface GuardedResponse {
	/** Also 3xx: a redirect is not followed, because it may lead to an internal address. */
	readonly status: number
	/** The value of the header Retry-After. */
	readonly retryAfter: string | undefined
	/** Keys are lower-case header names. Values of repeated headers are joined. */
	readonly headers: Readonly<Record<string, string>>
	/** The start of the body, as it was sent. */
	readonly excerpt: Uint8Array
	/** True if the body was longer, broke off, or took too long. */
	readonly isTruncated: boolean
}

/** The head of a response. Node counts no more than this before it fails. */
const MAX_HEADER_BYTES = 16_384

/** How long a body may take after its head. The status is known, and the caller waits for it. */
export const MAX_BODY_MS = 1_000

export interface ExchangeLimits {
	readonly maxResponseBytes: number
	readonly runtime: Runtime
}

/** Sends a request to a checked URL. */
export function exchange(
	url: URL,
	request: GuardedRequest,
	pool: ConnectionPool,
	limits: ExchangeLimits,
): Promise<GuardedResponse> {
	return new Promise((resolve, reject) => {
		new Exchange(url, request, pool, limits, resolve, reject).start()
	})
}

class Exchange {
	readonly #url: URL
	readonly #given: GuardedRequest
	readonly #pool: ConnectionPool
	readonly #limits: ExchangeLimits
	readonly #resolve: (response: GuardedResponse) => void
	readonly #reject: (error: unknown) => void
	#request: ClientRequest | undefined
	#response: IncomingMessage | undefined
	#cancelTimer: CancelTimer | undefined
	#isSettled = false
	#size = 0
	readonly #chunks: Uint8Array[] = []

	constructor(
		url: URL,
		given: GuardedRequest,
		pool: ConnectionPool,
		limits: ExchangeLimits,
		resolve: (response: GuardedResponse) => void,
		reject: (error: unknown) => void,
	) {
		this.#url = url
		this.#given = given
		this.#pool = pool
		this.#limits = limits
		this.#resolve = resolve
		this.#reject = reject
	}

	start(): void {
		const { headers, body, signal } = this.#given
		const { protocol, hostname, pathname, search } = this.#url
		const host = hostname.replace(/^\[|\]$/g, '')
		const { http, https } = this.#pool.modules
		try {
			this.#request = (protocol === 'http:' ? http : https).request({
				method: 'POST',
				protocol,
				host,
				port: portOf(this.#url),
				path: pathname + search,
				headers: { ...headers, 'content-length': body.byteLength },
				agent: this.#pool.agentFor(protocol),
				maxHeaderSize: MAX_HEADER_BYTES,
			})
		} catch (error) {
			// A header that Node rejects.
			this.#reject(error)
			return
		}
		signal.addEventListener('abort', this.#onAbort)
		// It stays after the end: a destroyed request emits an error, which would end the process.
		this.#request.on('error', (error) => this.#fail(error))
		this.#request.on('close', () => this.#fail(closedEarly()))
		this.#request.on('socket', (socket) => this.#onSocket(socket))
		this.#request.on('response', (response) => this.#onResponse(response))
	}

	/** Nothing is sent before the connection is checked: headers and body may be secrets. */
	#onSocket(socket: Socket): void {
		if (this.#pool.isChecked(socket)) this.#send()
		else if (socket.connecting || ('secureConnecting' in socket && socket.secureConnecting === true))
			socket.once(this.#url.protocol === 'http:' ? 'connect' : 'secureConnect', () => this.#onConnect(socket))
		else this.#onConnect(socket)
	}

	#onConnect(socket: Socket): void {
		if (this.#isSettled) return
		const error = this.#pool.check(nameOfHost(this.#url.hostname), socket)
		if (error) this.#fail(error)
		else this.#send()
	}

	#send(): void {
		this.#request?.end(this.#given.body)
	}

	#onResponse(response: IncomingMessage): void {
		response.on('error', (error) => this.#fail(error))
		if (this.#isSettled) return
		this.#response = response
		this.#given.onStatus?.(response.statusCode ?? 0)
		this.#cancelTimer = this.#limits.runtime.setTimer(MAX_BODY_MS, () => this.#finish(true), 'limit')
		response.on('data', (chunk: Uint8Array) => this.#onData(chunk))
		response.on('end', () => this.#finish(!response.complete))
	}

	#onData(chunk: Uint8Array): void {
		if (this.#isSettled) return
		const rest = this.#limits.maxResponseBytes - this.#size
		this.#chunks.push(chunk.subarray(0, rest))
		this.#size += Math.min(chunk.length, rest)
		if (chunk.length > rest) this.#finish(true)
	}

	readonly #onAbort = (): void => this.#fail(this.#given.signal.reason)

	#fail(error: unknown): void {
		// Emits what has arrived and was not emitted yet.
		while (this.#response?.read());
		if (this.#response) this.#finish(true)
		if (!this.#settle()) return
		this.#request?.destroy()
		this.#reject(error instanceof RejectedAddress ? this.#urlError(error) : error)
	}

	#finish(isTruncated: boolean): void {
		const response = this.#response
		if (!response || !this.#settle()) return
		// After an early response the receiver may never read the rest of the request.
		if (isTruncated || !this.#request?.writableFinished) this.#request?.destroy()
		const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const)
		this.#resolve({
			status: response.statusCode ?? 0,
			retryAfter: response.headers['retry-after'],
			headers: Object.fromEntries(headers),
			excerpt: concat(this.#chunks, this.#size),
			isTruncated,
		})
	}

	/** Returns false if it was settled before. */
	#settle(): boolean {
		if (this.#isSettled) return false
		this.#isSettled = true
		this.#cancelTimer?.()
		this.#given.signal.removeEventListener('abort', this.#onAbort)
		return true
	}

	#urlError({ address, range }: RejectedAddress): WebhookUrlError {
		const expected = `a host whose addresses are all public, got one that is not (${range})`
		return new WebhookUrlError('address', urlForError(this.#url), expected, { address, range })
	}
}

/**
 * Node emits no error of its own for a response such as 101. The text and the code are those that it has for
 * others.
 */
const closedEarly = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })

/** A copy, because a chunk may be a part of a larger buffer. */
function concat(chunks: readonly Uint8Array[], size: number): Uint8Array {
	const all = new Uint8Array(size)
	let at = 0
	for (const chunk of chunks) {
		all.set(chunk, at)
		at += chunk.length
	}
	return all
}
