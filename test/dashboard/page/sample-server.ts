/**
 * Serves the built page with sample data on loopback, under the same content security policy as the dashboard. Run it to look
 * at the page: `node test/dashboard/page/sample-server.ts`.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { type Assets, buildDashboardPage } from '../../../scripts/dashboard-page.ts'
import type { Action, Overview } from '../../../src/dashboard/contract.ts'
import {
	exactly,
	sampleAudit,
	sampleCalls,
	sampleDead,
	sampleEndpoints,
	sampleMessage,
	sampleMessages,
	sampleOverview,
} from './sample.ts'

const POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const PAGE = '/ops/retries/'
const STREAM_MS = 500

export interface SampleServer {
	readonly url: string
	/** The bodies of the actions that the page has sent. */
	readonly actions: readonly Action[]
	/** How many streams are open. */
	streams(): number
	/** Changes what the overview says from now on. */
	show(change: (overview: Overview) => Overview): void
	/** The tokens of the writes so far: rejected ones too. */
	readonly tokens: readonly string[]
	/** Accepts only this token from now on. `inPage` is the token of the pages that are loaded from now on. */
	setToken(accepted: string, inPage?: string): void
	/** Ends the streams and answers every request with 503, as while a process restarts. */
	setDown(isDown: boolean): void
	close(): Promise<void>
}

export async function startSampleServer(assets: Assets, port = 0): Promise<SampleServer> {
	const actions: Action[] = []
	const tokens: string[] = []
	let token = { accepted: 'sample-token', inPage: 'sample-token' }
	const streams = new Set<ServerResponse>()
	let [step, isDown] = [0, false]
	let change = (overview: Overview): Overview => overview
	const overview = (): Overview => change(sampleOverview(Date.now(), step))

	const server = createServer((request, response) => {
		const url = new URL(request.url ?? '', 'http://localhost')
		if (isDown) return json(response, 503, { code: 'failed', message: 'The process restarts.' })
		if (url.pathname === PAGE) return asset(response, 'index.html')
		if (!url.pathname.startsWith(`${PAGE}_yaoki/`))
			return json(response, 404, { code: 'not-found', message: 'Not found' })
		const path = url.pathname.slice(`${PAGE}_yaoki/`.length)
		if (!path.startsWith('api/')) return asset(response, path)
		if (path === 'api/stream') return stream(response)
		if (request.method === 'POST') return void write(request, response, path)
		const body = read(path, url.searchParams)
		json(response, body === undefined ? 404 : 200, body ?? { code: 'not-found', message: 'Not found' })
	})

	function read(path: string, query: URLSearchParams): unknown {
		const at = Date.now()
		switch (path) {
			case 'api/overview':
				return overview()
			case 'api/calls': {
				const calls = sampleCalls(at).filter(({ source }) => (query.get('source') ?? source) === source)
				return {
					calls,
					leftOut: { failures: 12, rejections: 1_204 },
					sources: ['client', 'payments'],
					reasons: ['circuit-open', 'retries-exhausted'],
					hasMore: false,
				}
			}
			case 'api/messages': {
				// A scan finds one message per request, three times.
				const round = Number(query.get('after') ?? 0)
				if (query.has('text'))
					return {
						messages: sampleMessages(at, 40).slice(round, round + 1),
						next: round < 2 ? String(round + 1) : null,
						scanned: 10_000,
					}
				const messages = sampleMessages(at).filter(({ status }) => (query.get('status') ?? status) === status)
				return { messages, next: null, scanned: messages.length }
			}
			case 'api/message':
				return query.get('id') === 'missing' ? undefined : sampleMessage(at, query.get('id') ?? '')
			case 'api/dead':
				return { groups: sampleDead(at), hasMore: false }
			case 'api/audit':
				return { records: sampleAudit(at), next: null }
			case 'api/endpoints':
				return { endpoints: sampleEndpoints(at), next: null }
			default:
				return undefined
		}
	}

	async function write(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
		const chunks: Buffer[] = []
		for await (const chunk of request) chunks.push(chunk as Buffer)
		const given = String(request.headers['x-yaoki-token'])
		tokens.push(given)
		if (given !== token.accepted)
			return json(response, 403, { code: 'token', message: 'The token is missing.' })
		const action: Action = JSON.parse(Buffer.concat(chunks).toString('utf8'))
		if (path === 'api/plan')
			return json(response, 200, {
				matching: exactly(31),
				destinations: ['email'],
				waiting: ['email'],
				command: `yaoki outbox ${action.action} --destination email --canary`,
			})
		actions.push(action)
		json(response, 200, { changed: action.action === 'replay' ? null : 1, job: null, command: null })
	}

	function stream(response: ServerResponse): void {
		response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
		response.write(`data: ${JSON.stringify(overview())}\n\n`)
		streams.add(response)
		response.on('close', () => streams.delete(response))
	}

	function asset(response: ServerResponse, name: string): void {
		const found = Object.hasOwn(assets, name) ? assets[name] : undefined
		if (!found) {
			json(response, 404, { code: 'not-found', message: 'Not found' })
			return
		}
		const text = gunzipSync(Buffer.from(found.gzip, 'base64')).toString('utf8')
		response.writeHead(200, { 'content-type': found.type, 'content-security-policy': POLICY })
		response.end(
			text.replace('name="yaoki-token" content=""', `name="yaoki-token" content="${token.inPage}"`),
		)
	}

	const timer = setInterval(() => {
		step += 1
		for (const response of streams) response.write(`data: ${JSON.stringify(overview())}\n\n`)
	}, STREAM_MS)
	await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PAGE}`,
		actions,
		tokens,
		setToken: (accepted, inPage = accepted) => {
			token = { accepted, inPage }
		},
		streams: () => streams.size,
		show: (next) => {
			change = next
		},
		setDown: (next) => {
			isDown = next
			if (isDown) for (const response of streams) response.end()
		},
		close: async () => {
			clearInterval(timer)
			server.closeAllConnections()
			await new Promise((resolve) => server.close(resolve))
		},
	}
}

function json(response: ServerResponse, status: number, body: unknown): void {
	response.writeHead(status, { 'content-type': 'application/json' })
	response.end(JSON.stringify(body))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const { assets } = await buildDashboardPage()
	const { url } = await startSampleServer(assets, Number(process.argv[2] ?? 0))
	console.log(url)
}
