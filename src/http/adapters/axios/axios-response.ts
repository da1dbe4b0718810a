/**
 * A response of axios with the interface that the engine uses. axios has already read the body, unless the
 * caller asked for a stream, which the caller then owns: there is nothing to observe and little to drain.
 * Retry hooks see this object and can read the body.
 */
import type { BodyObserver, ObservableResponse } from '../../transport/response.ts'
import type { AxiosResponse } from './axios-module.ts'

const ignore = (): void => {}

interface NodeStream {
	on(event: 'error', listener: () => void): unknown
	destroy(): unknown
}

const isNodeStream = (data: unknown): data is NodeStream =>
	typeof data === 'object' && data !== null && 'pipe' in data && 'destroy' in data

const isReadable = (
	data: unknown,
): data is ArrayBuffer | Uint8Array<ArrayBuffer> | Blob | FormData | string =>
	typeof data === 'string' ||
	data instanceof ArrayBuffer ||
	data instanceof Uint8Array ||
	data instanceof Blob ||
	data instanceof FormData

/** Returns the URL of a response to XMLHttpRequest, which has followed redirects. */
function responseUrl(request: unknown): string | undefined {
	const { responseURL } = Object(request)
	return typeof responseURL === 'string' && URL.canParse(responseURL) ? responseURL : undefined
}

export class AxiosResponseView<Result extends AxiosResponse = AxiosResponse> implements ObservableResponse {
	readonly result: Result
	readonly status: number
	readonly statusText: string
	readonly ok: boolean
	readonly url: string
	/** True if a redirect led to another origin, in browsers. Over `node:http` a hook observes redirects. */
	readonly redirected: boolean
	readonly body = null
	#read: Response | undefined

	constructor(result: Result, url: string) {
		this.result = result
		this.status = result.status
		this.statusText = result.statusText
		this.ok = result.status >= 200 && result.status <= 299
		const answered = responseUrl(result.request)
		this.url = answered ?? url
		this.redirected = answered !== undefined && new URL(answered).origin !== new URL(url, answered).origin
	}

	get headers(): Headers {
		const headers = new Headers()
		for (const [name, value] of this.#lines())
			for (const line of Array.isArray(value) ? value : [value]) headers.append(name, String(line))
		return headers
	}

	/** Returns a header by its lower-case name without creating a `Headers` object, or null. */
	header(name: string): string | null {
		for (const [given, value] of this.#lines())
			if (given.toLowerCase() === name) return Array.isArray(value) ? value.join(', ') : String(value)
		return null
	}

	/** A user's adapter may return plain or missing headers. */
	#lines(): [string, unknown][] {
		const lines: [string, unknown][] = Object.entries(this.result.headers ?? {})
		return lines.filter(([, value]) => value !== undefined && value !== null)
	}

	get bodyUsed(): boolean {
		return this.#read?.bodyUsed === true
	}

	text(): Promise<string> {
		return this.#reader().text()
	}

	json(): ReturnType<Response['json']> {
		return this.#reader().json()
	}

	arrayBuffer(): Promise<ArrayBuffer> {
		return this.#reader().arrayBuffer()
	}

	blob(): Promise<Blob> {
		return this.#reader().blob()
	}

	observe(observer: BodyObserver): void {
		const { data } = this.result
		if (isNodeStream(data) || data instanceof ReadableStream) observer.onHandOver(data)
		else observer.onEnd()
	}

	async drain(): Promise<void> {
		const { data } = this.result
		if (isNodeStream(data)) {
			data.on('error', ignore)
			data.destroy()
		} else if (data instanceof ReadableStream) await data.cancel().catch(ignore)
	}

	/** A stream is not read here: it belongs to the caller. */
	#reader(): Response {
		const { data } = this.result
		this.#read ??= new Response(isReadable(data) ? data : null)
		return this.#read
	}
}
