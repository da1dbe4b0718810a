/** Responses with the headers that all of them have. */
import type { Rejection } from './rejection.ts'

const SECURITY: Readonly<Record<string, string>> = {
	'content-security-policy':
		"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	'x-content-type-options': 'nosniff',
	'x-frame-options': 'DENY',
	'referrer-policy': 'no-referrer',
	'cross-origin-resource-policy': 'same-origin',
}

export const NOT_STORED: Readonly<Record<string, string>> = { 'cache-control': 'no-store' }

/** A shorter text becomes hardly smaller. */
const MIN_GZIP_LENGTH = 1_000

type Headers = Readonly<Record<string, string>>

/** `body`: text or bytes, or a stream of unknown length. */
export function respond(
	status: number,
	headers: Headers,
	body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
): Response {
	const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
	const length: Headers = bytes instanceof Uint8Array ? { 'content-length': String(bytes.byteLength) } : {}
	return new Response(bytes, { status, headers: { ...SECURITY, ...length, ...headers } })
}

/** Responds with a text that is JSON, compressed if the client accepts it. */
export async function respondJson(request: Request, text: string): Promise<Response> {
	const headers = { ...NOT_STORED, 'content-type': 'application/json', vary: 'accept-encoding' }
	if (text.length < MIN_GZIP_LENGTH || !acceptsGzip(request)) return respond(200, headers, text)
	const gzip = await through(new TextEncoder().encode(text), new CompressionStream('gzip'))
	return respond(200, { ...headers, 'content-encoding': 'gzip' }, gzip)
}

export const respondRejected = ({ status, headers, body }: Rejection): Response =>
	respond(status, { ...NOT_STORED, 'content-type': 'application/json', ...headers }, JSON.stringify(body))

/** Returns the response to HEAD, which is the response to GET without its body. */
export const withoutBody = ({ status, headers }: Response): Response =>
	new Response(null, { status, headers })

/** Next.js removes `content-encoding` from the response of a route. It compresses what a route returns itself. */
const isOfNext = (request: Request): boolean => 'nextUrl' in request

/** Split instead of one pattern, which would take quadratic time for a header of spaces. */
export const acceptsGzip = (request: Request): boolean =>
	!isOfNext(request) &&
	(request.headers.get('accept-encoding') ?? '').split(',').some((encoding) => {
		const [name = '', quality = 'q=1'] = encoding.split(';')
		return /^(x-)?gzip$/i.test(name.trim()) && Number(quality.trim().slice(2)) > 0
	})

/** Returns the bytes after compression or decompression. */
export async function through(
	bytes: Uint8Array<ArrayBuffer>,
	transform: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
	const stream = new Blob([bytes]).stream().pipeThrough(transform)
	return new Uint8Array(await new Response(stream).arrayBuffer())
}
