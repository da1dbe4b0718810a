/**
 * Requests of all servers, by their shape: nothing of a platform is imported. What matters is whether the
 * bytes of the body still exist, because a signature is over the bytes and not over what a parser made of
 * them.
 */
import { invalidArgument, isObject } from '../core/options/schema.ts'
import { decodeBase64 } from './base64.ts'
import { toBytes } from './bytes.ts'
import { WebhookVerificationError } from './errors.ts'
import { type NodeStream, readNodeStream, readWebStream, type WebStream } from './streams.ts'

/**
 * A request that `verifyWebhook` accepts: a web `Request`, a Node request (also of Express and Fastify) whose
 * body is unread or is bytes, or an object with the headers and the bytes, such as an event of AWS Lambda.
 */
export interface WebhookRequest {
	/** `Headers`, or an object. The case of names does not matter. */
	readonly headers: object
	/** The bytes or the text of the body, as it was received; or its unread stream. */
	readonly body?: unknown
	/** The bytes or the text as it was received, where `body` is the parsed value: NestJS, Cloud Functions. */
	readonly rawBody?: unknown
	/** AWS Lambda: `body` is base64. */
	readonly isBase64Encoded?: boolean | undefined
}

/** Returns the value of a header by its lower-case name; undefined if it is missing. */
export type HeaderReader = (name: string) => string | undefined

const EXPECTED =
	'a web Request, a Node request, or an object with headers and the raw body (in Hono pass c.req.raw)'

/** Throws an InvalidArgumentError unless this can be a request. */
export function readHeaders(request: unknown): HeaderReader {
	const headers = isObject(request) ? Reflect.get(request, 'headers') : undefined
	if (!isObject(headers)) return invalidArgument('request', `a value of the type ${typeof request}`, EXPECTED)
	if (isHeaders(headers)) return (name) => headers.get(name) ?? undefined
	return (name) => {
		const key = name in headers ? name : Object.keys(headers).find((each) => each.toLowerCase() === name)
		const value: unknown = key === undefined ? undefined : Reflect.get(headers, key)
		const joined: unknown = Array.isArray(value) ? value.join(', ') : value
		return typeof joined === 'string' ? joined : undefined
	}
}

const isHeaders = (headers: object): headers is { get(name: string): string | null } =>
	'get' in headers && typeof headers.get === 'function'

/** The members of all kinds of requests that say where the body is. */
interface BodySource extends WebhookRequest {
	readonly bodyUsed?: unknown
	readonly readableDidRead?: unknown
	readonly readableEnded?: unknown
	readonly on?: unknown
}

/** Returns the bytes of the body. Rejects with a WebhookVerificationError if they do not exist any more. */
export async function readBody(
	request: WebhookRequest,
	header: HeaderReader,
	maxBytes: number,
): Promise<Uint8Array> {
	const given = givenBytes(request)
	if (given) return given.length > maxBytes ? tooLarge(maxBytes) : given
	const stream = streamOf(request)
	if (!stream) return new Uint8Array(0)
	// Before anything is received.
	if (Number(header('content-length') ?? 0) > maxBytes) return tooLarge(maxBytes)
	const bytes =
		'getReader' in stream ? await readWebStream(stream, maxBytes) : await readNodeStream(stream, maxBytes)
	return bytes ?? tooLarge(maxBytes)
}

function givenBytes({ rawBody, body, isBase64Encoded }: WebhookRequest): Uint8Array | undefined {
	if (isBase64Encoded === true && typeof body === 'string')
		return decodeBase64(body) ?? invalidArgument('request.body', 'a text', 'base64, as isBase64Encoded says')
	return toBytes(rawBody) ?? toBytes(body)
}

/** Returns the unread stream of the body; undefined if the request has no body. */
function streamOf(request: BodySource): WebStream | NodeStream | undefined {
	const { body } = request
	if (request.bodyUsed === true) return used()
	if (isWebStream(body)) return body.locked ? used() : body
	// Before the parsed body: Express 4 sets `{}` where its parser did not read the body.
	if (isNodeStream(request) && request.readableDidRead !== true && request.readableEnded !== true)
		return request
	if (body === null) return undefined
	if (body !== undefined) return parsed()
	return isNodeStream(request) ? used() : invalidArgument('request.body', body, 'the raw body')
}

const isWebStream = (body: unknown): body is WebStream =>
	isObject(body) && 'getReader' in body && typeof body.getReader === 'function'

const isNodeStream = (request: object): request is BodySource & NodeStream =>
	'on' in request && typeof request.on === 'function'

function tooLarge(maxBytes: number): never {
	throw new WebhookVerificationError(
		'body-too-large',
		`The body is larger than ${maxBytes} bytes (maxBodyBytes)`,
	)
}

function parsed(): never {
	throw new WebhookVerificationError(
		'body-parsed',
		"The body was parsed before verification, and a signature is over its exact bytes. Pass the raw bytes: in Express with express.raw({ type: 'application/json' }) on this route, before any express.json(); in Fastify with a content type parser with parseAs 'buffer'; in API routes of Next.js with bodyParser: false",
	)
}

function used(): never {
	throw new WebhookVerificationError(
		'body-used',
		'The body was read before verification. Call verifyWebhook before other code reads the body, and use body or json() of its result; or pass { headers, body } with the bytes that were read',
	)
}
