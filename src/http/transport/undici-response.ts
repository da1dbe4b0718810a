/**
 * A result of undici's `request` with the interface of a `Response`. Everything expensive is created on first use: for a small JSON
 * response only `status` and `json()` are used, without a Headers object, a URL or a web stream. A real `Response` around the same body
 * costs more than the request itself.
 */
import type { Runtime } from '../../core/runtime/runtime.ts'
import { chunkStream, decodeBody } from './decode.ts'
import {
	type AbortSource,
	type BodyObserver,
	headerFrom,
	MAX_DRAIN_MS,
	MAX_DRAINED_BYTES,
	type ObservableResponse,
} from './transport.ts'
import type { UndiciBody, UndiciResult } from './undici-module.ts'

const ignore = (): void => {}

/** A response of {@link undiciTransport}. */
export class UndiciResponse implements ObservableResponse {
	readonly status: number
	readonly redirected: boolean
	readonly #requestUrl: string
	readonly #result: UndiciResult
	readonly #abort: AbortSource
	readonly #runtime: Runtime
	readonly #hasBody: boolean
	#isUsed = false
	/** True after a call of `text()` or a similar method. */
	#isReadByMethod = false
	#url: string | undefined
	#headers: Headers | undefined
	#stream: ReadableStream<Uint8Array<ArrayBuffer>> | undefined
	#observer: BodyObserver | undefined
	#through: ((chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | undefined

	/** @internal */
	constructor(
		requestUrl: string,
		redirected: boolean,
		method: string,
		result: UndiciResult,
		abort: AbortSource,
		runtime: Runtime,
	) {
		const status = result.statusCode
		this.status = status
		this.redirected = redirected
		this.#requestUrl = requestUrl
		this.#result = result
		this.#abort = abort
		this.#runtime = runtime
		this.#hasBody = method !== 'HEAD' && status !== 204 && status !== 205 && status !== 304
		// The caller cannot read it, and until it has ended the signal references the request.
		if (!this.#hasBody) result.body.resume()
	}

	get statusText(): string {
		return this.#result.statusText ?? ''
	}

	get ok(): boolean {
		return this.status >= 200 && this.status <= 299
	}

	get url(): string {
		if (this.#url === undefined) {
			const url = new URL(this.#requestUrl)
			url.hash = ''
			this.#url = url.href
		}
		return this.#url
	}

	get headers(): Headers {
		if (!this.#headers) {
			const headers = new Headers()
			for (const [name, value] of Object.entries(this.#result.headers))
				for (const line of Array.isArray(value) ? value : [value ?? ''])
					headers.append(name, toByteString(line))
			this.#headers = headers
		}
		return this.#headers
	}

	/** Returns a header by its lower-case name without creating a `Headers` object, or null. */
	header(name: string): string | null {
		return headerFrom(this.#result.headers, name)
	}

	get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
		if (!this.#hasBody) return null
		if (!this.#stream) {
			this.#stream = this.#isUsed ? lockedStream() : this.#open()
		}
		return this.#stream
	}

	get bodyUsed(): boolean {
		return this.#isUsed
	}

	get isStreamTaken(): boolean {
		return !this.#isReadByMethod && this.#stream !== undefined && (this.#isUsed || this.#stream.locked)
	}

	text(): Promise<string> {
		return this.#isUnusable ? rejectUsed() : this.#finish(this.#reader().text())
	}

	json(): ReturnType<Response['json']> {
		return this.text().then(JSON.parse)
	}

	arrayBuffer(): Promise<ArrayBuffer> {
		return this.#isUnusable ? rejectUsed() : this.#finish(this.#reader().arrayBuffer())
	}

	async blob(): Promise<Blob> {
		const bytes = await this.arrayBuffer()
		return new Blob([bytes], { type: (this.header('content-type') ?? '').replace(/;\s+/g, ';') })
	}

	observe(observer: BodyObserver): void {
		if (this.#hasBody) this.#observer = observer
		else observer.onEnd()
	}

	pipeBody(through: (chunks: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>): void {
		this.#through = through
	}

	async drain(): Promise<void> {
		if (!this.#hasBody) return
		const { body } = this.#result
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
			// The bytes are not needed, and an error frees the connection too.
		}
		cancel()
		this.#takeObserver()?.onEnd()
	}

	get #isUnusable(): boolean {
		return this.#isUsed || this.#stream?.locked === true
	}

	/** Returns undici's body, or a `Response` if the body must be decoded or limited or is already a web stream. */
	#reader(): Pick<UndiciBody, 'text' | 'arrayBuffer'> {
		if (!this.#hasBody) return new Response(null)
		this.#isUsed = true
		this.#isReadByMethod = true
		this.#observer?.onReadStart()
		const isPlain = !this.#stream && !this.#through && this.#result.headers['content-encoding'] === undefined
		return isPlain ? this.#result.body : new Response(this.#stream ?? this.#open())
	}

	async #finish<T>(reading: Promise<T>): Promise<T> {
		let value: T
		try {
			value = await reading
		} catch (error) {
			const reason = this.#abort.isAborted ? this.#abort.cause : error
			const observer = this.#takeObserver()
			throw observer ? observer.onEnd(reason) : reason
		}
		this.#takeObserver()?.onEnd()
		return value
	}

	/** Returns the observer once: it is notified of one end only. */
	#takeObserver(): BodyObserver | undefined {
		const observer = this.#observer
		this.#observer = undefined
		return observer
	}

	#open(): ReadableStream<Uint8Array<ArrayBuffer>> {
		const { body } = this.#result
		body.on('error', ignore)
		const encoding = this.header('content-encoding')
		const end = () => {
			if (!this.#isReadByMethod) this.#takeObserver()?.onEnd()
		}
		const chunks = withAbortReason(body, this.#abort, end)
		const cancel = () => {
			this.#isUsed = true
			body.destroy()
			end()
		}
		const bytes = encoding === null ? chunks : decodeBody(chunks, encoding, cancel)
		return chunkStream(this.#through?.(bytes) ?? bytes, cancel, () => {
			this.#isUsed = true
		})
	}
}

// The message of `fetch`.
const rejectUsed = (): Promise<never> =>
	Promise.reject(new TypeError('Body is unusable: Body has already been read'))

/** The `body` of a response that was read by a method: a locked stream, as in `fetch`. */
function lockedStream(): ReadableStream<Uint8Array<ArrayBuffer>> {
	const stream = new ReadableStream<Uint8Array<ArrayBuffer>>()
	stream.getReader()
	return stream
}

async function* withAbortReason(
	body: UndiciBody,
	abort: AbortSource,
	end: () => void,
): AsyncGenerator<Uint8Array> {
	try {
		yield* body
	} catch (error) {
		throw abort.isAborted ? abort.cause : error
	} finally {
		end()
	}
}

/** Some versions of undici decode headers as UTF-8, but `Headers` accepts byte strings only. */
function toByteString(text: string): string {
	return /[^\t -\u00ff]/.test(text) ? String.fromCharCode(...new TextEncoder().encode(text)) : text
}
