/**
 * A server whose responses are scripted in the URL: `/story/<id>/503,hang,200` fails the first request, never responds to the second and
 * succeeds for all others. So the script stands in the test that needs it. Tests fetch the recorded requests by the id, because a suite in
 * a browser cannot look into this process.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** A received request. */
interface Seen {
	readonly method: string
	/** In milliseconds, by the clock of this server. */
	readonly at: number
	readonly type: string | undefined
	readonly bytes: number
	readonly sha256: string
	readonly headers: IncomingMessage['headers']
}

interface Story {
	readonly seen: Seen[]
	/** Settles when the first request has arrived. */
	readonly arrived: Promise<void>
	readonly arrive: () => void
	/** Settles when a client disconnects before the response is complete. */
	readonly gone: Promise<void>
	readonly leave: () => void
}

/** Allows a page of another origin to send and read all headers. `*` does not cover credentials. */
const CORS: Readonly<Record<string, string>> = {
	'access-control-allow-origin': '*',
	'access-control-allow-methods': '*',
	'access-control-allow-headers': '*, authorization',
	'access-control-expose-headers': '*',
	'access-control-max-age': '600',
}

const json = (response: ServerResponse, status: number, value: unknown) =>
	response
		.writeHead(status, { 'content-type': 'application/json' })
		.end(status === 204 ? undefined : JSON.stringify(value))

const begin = (response: ServerResponse, then: () => void) => {
	response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 1_000 })
	response.write('the beginning', then)
}

/** Steps other than a status such as `404`, or `503@1` with `Retry-After: 1`. */
const STEPS: Readonly<Record<string, (response: ServerResponse) => void>> = {
	hang: () => {},
	reset: (response) => response.destroy(),
	cut: (response) => begin(response, () => response.destroy()),
	stall: (response) => begin(response, () => {}),
	veto: (response) => response.setHeader('x-should-retry', 'false').writeHead(503).end(),
	page: (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('a page'),
	form: (response) =>
		response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' }).end('a=1'),
	moved: (response) => response.writeHead(302, { location: 'page' }).end(),
}

function play(step: string, seen: Seen, response: ServerResponse): void {
	const act = STEPS[step]
	if (act) {
		act(response)
		return
	}
	const [status, retryAfter] = step.split('@')
	if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
	json(response, Number(status), seen)
}

/** Returns the handler of scripted URLs. It returns undefined for other paths. */
export function storyTeller(): (path: string) => RequestListener | undefined {
	const stories = new Map<string, Story>()
	const storyOf = (id: string): Story => {
		const known = stories.get(id)
		if (known) return known
		const [arrived, arrive] = signal()
		const [gone, leave] = signal()
		const story: Story = { seen: [], arrived, arrive, gone, leave }
		stories.set(id, story)
		return story
	}

	async function tell(id: string, steps: string, request: IncomingMessage, response: ServerResponse) {
		for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value)
		// A preflight request of a browser does not count.
		if (request.method === 'OPTIONS') return response.writeHead(204).end()
		const { seen, arrive, leave } = storyOf(id)
		response.on('close', () => response.writableFinished || leave())
		const arrived = await arrival(request)
		if (!arrived) return undefined
		const script = steps.split(',')
		const step = script[seen.length] ?? script.at(-1) ?? ''
		seen.push(arrived)
		arrive()
		return play(step, arrived, response)
	}

	return (path) => {
		const [, kind, id = '', steps = ''] = path.split('/')
		if (kind === 'story') return (request, response) => void tell(id, steps, request, response)
		if (kind !== 'seen' && kind !== 'arrived' && kind !== 'gone') return undefined
		return async (_, response) => {
			response.setHeader('access-control-allow-origin', '*')
			const { seen, arrived, gone } = storyOf(id)
			if (kind === 'arrived') await arrived
			if (kind === 'gone') await gone
			json(response, 200, seen)
		}
	}
}

/** Returns a promise and the function that resolves it. */
function signal(): [Promise<void>, () => void] {
	let resolve = () => {}
	const promise = new Promise<void>((done) => {
		resolve = done
	})
	return [promise, resolve]
}

/** Returns undefined if the request was interrupted. */
async function arrival(request: IncomingMessage): Promise<Seen | undefined> {
	const at = performance.now()
	const { method = '', headers } = request
	const type = headers['content-type']
	try {
		const chunks: Buffer[] = []
		for await (const chunk of request) chunks.push(chunk)
		const body = withoutBoundary(Buffer.concat(chunks), type)
		const sha256 = createHash('sha256').update(body).digest('hex')
		return { method, at, type, bytes: body.length, sha256, headers }
	} catch {
		return undefined
	}
}

/** Each time a form is sent it gets another boundary. Everything else must be the same. */
function withoutBoundary(body: Buffer, type = ''): Buffer {
	const boundary = type.match(/^multipart\/.*boundary="?([^";]+)/)?.[1]
	if (!boundary) return body
	return Buffer.from(body.toString('latin1').replaceAll(boundary, 'boundary'), 'latin1')
}
