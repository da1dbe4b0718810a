/**
 * The parts of Node's messages that the adapters use, by shape: nothing of Node or of a framework is
 * imported. Express adds to these objects, Fastify has them as `raw`, and the compatibility API of HTTP/2 has
 * the same members.
 */

export type NodeSocket = {
	readonly readable?: boolean | undefined
	readonly readableEnded?: boolean | undefined
	readonly errored?: Error | null | undefined
	/** After so many idle milliseconds Node destroys it. 0 or undefined if it does not. */
	readonly timeout?: number | undefined
	/** The HTTP server that has accepted it. */
	readonly server?: { readonly listening: boolean } | null | undefined
	once(event: string, listener: () => void): unknown
}

export type NodeRequest = {
	readonly method?: string | undefined
	readonly url?: string | undefined
	readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
	readonly httpVersionMajor: number
	/** True if the whole body was received. */
	readonly complete: boolean
	readonly destroyed: boolean
	readonly readableEnded: boolean
	readonly readableDidRead: boolean
	readonly readableLength: number
	readonly socket?: NodeSocket | null | undefined
	push(chunk: Uint8Array | null): boolean
	unshift(chunk: Uint8Array | string): void
	read(size?: number): unknown
	resume(): unknown
	destroy(error?: Error): unknown
	once(event: string, listener: () => void): unknown
	off(event: string, listener: () => void): unknown
}

export type NodeResponse = {
	statusCode: number
	statusMessage: string
	readonly headersSent: boolean
	readonly writableEnded: boolean
	readonly destroyed: boolean
	readonly closed: boolean
	/** HTTP/2 only. */
	readonly stream?: { readonly closed: boolean } | undefined
	getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>
	getHeaderNames(): string[]
	hasHeader(name: string): boolean
	setHeader(name: string, value: string | readonly string[]): unknown
	removeHeader(name: string): void
	writeHead(status: number): unknown
	write(chunk: Uint8Array | string): boolean
	end(): unknown
	end(chunk: Uint8Array | string): unknown
	emit(event: string): boolean
	destroy(error?: Error): unknown
	once(event: string, listener: () => void): unknown
	off(event: string, listener: () => void): unknown
}

interface NodeBuffer {
	from(text: string, encoding?: string): Uint8Array
}

/** Looked up by name, because the package runs where it does not exist. */
const nodeBuffer = (globalThis as { Buffer?: NodeBuffer }).Buffer

export type Chunk = string | Uint8Array

/** Checks the shape, because a test runner such as Jest has a second `Uint8Array`. */
export const isChunk = (value: unknown): value is Chunk =>
	typeof value === 'string' || (ArrayBuffer.isView(value) && 'byteLength' in value && 'fill' in value)

/** Returns the bytes of a chunk. They are a copy: streams write into the same buffer again. */
export function copiedBytes(chunk: Chunk, encoding: unknown): Uint8Array {
	if (typeof chunk !== 'string') return new Uint8Array(chunk)
	if (!nodeBuffer) return new TextEncoder().encode(chunk)
	return nodeBuffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8')
}
