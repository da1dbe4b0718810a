/**
 * What undici answered, with the face of a `Response`. Everything that costs is made when it is asked for: of a small JSON
 * answer only `status` and `json()` are read, and then there is no Headers, no URL and no web stream. A real `Response`
 * around the same body costs more than the request itself.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'

import { chunkStream } from './chunk-stream.ts'
import { decodeBody } from './decode.ts'
import {
	type AbortListenable,
	type BodyObserver,
	MAX_DRAIN_MS,
	MAX_DRAINED_BYTES,
	type ObservableResponse,
} from './transport.ts'
import type { UndiciBody, UndiciResult } from './undici-module.ts'

const ignore = (): void => {}

/** What undici's body and a `Response` both do. */
type Readout = Pick<UndiciBody, 'text' | 'arrayBuffer'>

/** A response of {@link undiciTransport}. Made by it alone. */
export class UndiciResponse implements ObservableResponse {
	readonly status: number
	readonly redirected: boolean
	readonly #address: string
	readonly #answer: UndiciResult
	readonly #signal: AbortListenable
	readonly #runtime: Runtime
	readonly #hasBody: boolean
	#isUsed = false
	/** Is or was it read by `text()` and the like? */
	#isReadOut = false
	#url: string | undefined
	#headers: Headers | undefined
	#stream: ReadableStream<Uint8Array<ArrayBuffer>> | undefined
	#follower: BodyObserver | undefined

	/** @internal */
	constructor(
		address: string,
		redirected: boolean,
		method: string,
		answer: UndiciResult,
		signal: AbortListenable,
		runtime: Runtime,
	) {
		const status = answer.statusCode
		this.status = status
		this.redirected = redirected
		this.#address = address
		this.#answer = answer
		this.#signal = signal
		this.#runtime = runtime
		this.#hasBody = method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304
		// Nobody will read it, and until it has ended the signal holds on to the request.
		if (!this.#hasBody) answer.body.resume()
	}

	get statusText(): string {
		return this.#answer.statusText ?? ''
	}

	get ok(): boolean {
		return this.status >= 200 && this.status <= 299
	}

	get url(): string {
		if (this.#url === undefined) {
			const url = new URL(this.#address)
			url.hash = ''
			this.#url = url.href
		}
		return this.#url
	}

	get headers(): Headers {
		if (!this.#headers) {
			const headers = new Headers()
			for (const [name, value] of Object.entries(this.#answer.headers))
				for (const line of Array.isArray(value) ? value : [value ?? '']) headers.append(name, byteText(line))
			this.#headers = headers
		}
		return this.#headers
	}

	/** A header without the `Headers`: its lines joined by commas, or null. The name is in lower case. */
	header(name: string): string | null {
		const { headers } = this.#answer
		const value = Object.hasOwn(headers, name) ? headers[name] : undefined
		return Array.isArray(value) ? value.join(', ') : (value ?? null)
	}

	get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
		if (!this.#hasBody) return null
		if (!this.#stream) {
			this.#stream = this.#isUsed ? spentStream() : this.#open()
		}
		return this.#stream
	}

	get bodyUsed(): boolean {
		return this.#isUsed
	}

	get isTaken(): boolean {
		return !this.#isReadOut && this.#stream !== undefined && (this.#isUsed || this.#stream.locked)
	}

	text(): Promise<string> {
		return this.#isUnusable ? refused() : this.#ending(this.#readout().text())
	}

	json(): ReturnType<Response['json']> {
		return this.text().then(JSON.parse)
	}

	arrayBuffer(): Promise<ArrayBuffer> {
		return this.#isUnusable ? refused() : this.#ending(this.#readout().arrayBuffer())
	}

	async blob(): Promise<Blob> {
		const bytes = await this.arrayBuffer()
		return new Blob([bytes], { type: (this.header('content-type') ?? '').replace(/;\s+/g, ';') })
	}

	/** Tells the follower once what became of the body; for a response without one, that it has ended. */
	observe(follower: BodyObserver): void {
		if (this.#hasBody) this.#follower = follower
		else follower.ended()
	}

	/** Reads up to 64 kB for up to a second, so that the connection can be used again, and closes it otherwise. */
	async discard(): Promise<void> {
		if (!this.#hasBody) return
		const { body } = this.#answer
		body.on('error', ignore)
		if (this.#isUsed || this.#stream) {
			body.destroy()
			return
		}
		this.#isUsed = true
		const cancel = this.#runtime.setTimer(MAX_DRAIN_MS, () => body.destroy(), 'housekeeping')
		try {
			await body.dump({ limit: MAX_DRAINED_BYTES })
		} catch {
			// What went wrong with bytes that nobody wants is nobody's concern.
		}
		cancel()
		this.#told()?.ended()
	}

	get #isUnusable(): boolean {
		return this.#isUsed || this.#stream?.locked === true
	}

	#readout(): Readout {
		if (!this.#hasBody) return new Response(null)
		this.#isUsed = true
		this.#isReadOut = true
		this.#follower?.began()
		const isPlain = !this.#stream && this.#answer.headers['content-encoding'] === undefined
		return isPlain ? this.#answer.body : new Response(this.#stream ?? this.#open())
	}

	async #ending<T>(reading: Promise<T>): Promise<T> {
		let value: T
		try {
			value = await reading
		} catch (error) {
			const reason = this.#signal.isAborted ? this.#signal.cause : error
			const follower = this.#told()
			throw follower ? follower.ended(reason) : reason
		}
		this.#told()?.ended()
		return value
	}

	/** The follower, who hears of it now and of nothing else after. */
	#told(): BodyObserver | undefined {
		const follower = this.#follower
		this.#follower = undefined
		return follower
	}

	#open(): ReadableStream<Uint8Array<ArrayBuffer>> {
		const { body } = this.#answer
		body.on('error', ignore)
		const encoding = this.header('content-encoding')
		const chunks = untilAborted(body, this.#signal)
		const giveUp = () => {
			this.#isUsed = true
			body.destroy()
		}
		const bytes = encoding === null ? chunks : decodeBody(chunks, encoding, giveUp)
		return chunkStream(bytes, giveUp, () => {
			this.#isUsed = true
		})
	}
}

const refused = (): Promise<never> =>
	Promise.reject(new TypeError('Body is unusable: Body has already been read'))

/** What `body` is once the bytes are gone: a stream that somebody else holds. */
function spentStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
	const stream = new ReadableStream<Uint8Array<ArrayBuffer>>()
	stream.getReader()
	return stream
}

async function* untilAborted(body: UndiciBody, signal: AbortListenable): AsyncGenerator<Uint8Array> {
	try {
		yield* body
	} catch (error) {
		throw signal.isAborted ? signal.cause : error
	}
}

/** Some versions of undici read headers as UTF-8, and `Headers` takes only texts of bytes. */
function byteText(text: string): string {
	return /[^\t -\u00ff]/.test(text) ? String.fromCharCode(...new TextEncoder().encode(text)) : text
}
