/**
 * What axios answered, with the face that the engine knows. axios has read the body when it answers, unless a stream was asked
 * for, and that is the caller's own; so there is nothing to follow, and little to throw away. Who decides about retries sees
 * the same face, and may read a body from it that is there.
 */
import type { BodyObserver, ObservableResponse } from '../../transport/transport.ts'
import type { AxiosResponse } from './axios-module.ts'

const ignore = (): void => {}

/** A stream of Node. */
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

export class AxiosResponseView<Answer extends AxiosResponse = AxiosResponse> implements ObservableResponse {
	readonly answer: Answer
	readonly url: string
	/** axios does not say it everywhere. */
	readonly redirected = false
	readonly body = null
	#read: Response | undefined

	constructor(answer: Answer, url: string) {
		this.answer = answer
		this.url = url
	}

	get status(): number {
		return this.answer.status
	}

	get statusText(): string {
		return this.answer.statusText
	}

	get ok(): boolean {
		return this.status >= 200 && this.status <= 299
	}

	get headers(): Headers {
		const headers = new Headers()
		for (const [name, value] of this.#lines())
			for (const line of Array.isArray(value) ? value : [value]) headers.append(name, String(line))
		return headers
	}

	/** A header without the `Headers`, by its lower-case name. */
	header(name: string): string | null {
		for (const [own, value] of this.#lines())
			if (own.toLowerCase() === name) return Array.isArray(value) ? value.join(', ') : String(value)
		return null
	}

	/** An adapter of the user's own may answer with a plain object, or with none. */
	#lines(): [string, unknown][] {
		const lines: [string, unknown][] = Object.entries(this.answer.headers ?? {})
		return lines.filter(([, value]) => value !== undefined && value !== null)
	}

	get bodyUsed(): boolean {
		return this.#read?.bodyUsed === true
	}

	text(): Promise<string> {
		return this.#readout().text()
	}

	json(): ReturnType<Response['json']> {
		return this.#readout().json()
	}

	arrayBuffer(): Promise<ArrayBuffer> {
		return this.#readout().arrayBuffer()
	}

	blob(): Promise<Blob> {
		return this.#readout().blob()
	}

	observe(follower: BodyObserver): void {
		if (this.#isStream) follower.handedOver()
		else follower.ended()
	}

	async discard(): Promise<void> {
		const { data } = this.answer
		if (isNodeStream(data)) {
			data.on('error', ignore)
			data.destroy()
		} else if (data instanceof ReadableStream) await data.cancel().catch(ignore)
	}

	get #isStream(): boolean {
		const { data } = this.answer
		return isNodeStream(data) || data instanceof ReadableStream
	}

	/** Of a stream nothing is read here: it has one reader, and that is the caller. */
	#readout(): Response {
		const { data } = this.answer
		this.#read ??= new Response(isReadable(data) ? data : null)
		return this.#read
	}
}
