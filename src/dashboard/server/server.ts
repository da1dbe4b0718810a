/** Responds to requests of every kind of server: asks who may do what, and finds what answers. */

import { safeGet, safeMessage } from '../../core/classify/safe-get.ts'
import { notify } from '../../core/options/hooks.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { ProblemReports } from '../../telemetry/observe/report.ts'
import type { Access, Action } from '../contract.ts'
import type { DashboardAction, DashboardOptions } from '../options.ts'
import type { LivePart, PartSettings, QueuePart } from '../parts.ts'
import { findAccess } from './access.ts'
import { checkWrite, crossOrigin, isForeignRead } from './check-write.ts'
import type { Exchange } from './exchange.ts'
import { OverviewFeed } from './overview-feed.ts'
import { PageFiles } from './page-files.ts'
import { findPlace, type Place } from './paths.ts'
import { isOfCircuit, readAction } from './read-action.ts'
import { invalid, notFound, Rejection } from './rejection.ts'
import { NOT_STORED, respond, respondJson, respondRejected, withoutBody } from './responses.ts'
import { withTimeLimit } from './time-limit.ts'

export interface ServerSettings extends Pick<DashboardOptions, 'authorize' | 'actor' | 'onAction'> {
	readonly runtime: Runtime
	readonly redact: PartSettings['redact']
	/** True for a dashboard that knows only what the database knows. */
	readonly isDatabaseOnly: boolean
}

type Answer = Response | Rejection | object

/** What a GET of the API returns, by its name. */
type Reads = Readonly<Record<string, (query: Readonly<Record<string, string>>) => object | Promise<object>>>

const WRITES: readonly string[] = ['plan', 'action']
const FEEDS: readonly string[] = ['overview', 'stream']

/** An event stream that a proxy or a middleware compresses or collects would arrive late. */
const STREAM = {
	'content-type': 'text/event-stream',
	'cache-control': 'no-store, no-transform',
	'x-accel-buffering': 'no',
}

const FAILED = 'The dashboard could not respond. The log of its process has the error.'

export class DashboardServer {
	readonly #live: LivePart
	readonly #queue: QueuePart
	readonly #settings: ServerSettings
	readonly #feed: OverviewFeed
	readonly #reads: Reads
	readonly #files = new PageFiles()
	readonly #problems = new ProblemReports('dashboard')
	#isClosed = false

	constructor(live: LivePart, queue: QueuePart, settings: ServerSettings) {
		this.#live = live
		this.#queue = queue
		this.#settings = settings
		this.#feed = new OverviewFeed(live, queue, { ...settings, report: (error) => this.report(error) })
		this.#reads = {
			calls: (query) => live.calls(query),
			messages: (query) => queue.messages(query),
			message: async (query) => (await queue.message(query)) ?? notFound(),
			dead: (query) => queue.dead(query),
			audit: (query) => queue.audit(query),
			endpoints: (query) => queue.endpoints(query),
		}
	}

	/** Never rejects. */
	async respond(exchange: Exchange): Promise<Response> {
		const response = await this.#answer(exchange).catch((error) => this.#failure(error))
		return exchange.request.method === 'HEAD' ? withoutBody(response) : response
	}

	async close(): Promise<void> {
		this.#isClosed = true
		this.#feed.close()
		this.#live.close()
		await this.#queue.close()
	}

	/** Reports an error once. The error is not for the client: it may name hosts and users. */
	report(error: unknown): void {
		this.#problems.report(safeMessage(error), 'a request failed', error)
	}

	async #answer(exchange: Exchange): Promise<Response> {
		const { request } = exchange
		const access = await findAccess(exchange, this.#settings).catch((error) => this.#failed(error))
		if (access instanceof Rejection) return this.#rejected(access)
		if (this.#isClosed) return respondRejected(closed())
		const { search, searchParams } = new URL(request.url)
		const place = findPlace(exchange, search)
		const answer =
			this.#wrongPlace(place) ??
			wrongMethod(place, request.method) ??
			(request.method !== 'POST' && isForeignRead(request) ? crossOrigin() : undefined) ??
			(await this.#find(place, exchange, access, Object.fromEntries(searchParams)))
		if (answer instanceof Rejection) return this.#rejected(answer)
		return answer instanceof Response ? answer : respondJson(request, JSON.stringify(answer))
	}

	/** A function of the application that hangs is a problem of the program, and not only of this client. */
	#rejected(rejection: Rejection): Response {
		if (rejection.body.code === 'timeout') this.report(new Error(rejection.body.message))
		return respondRejected(rejection)
	}

	#wrongPlace(place: Place): Rejection | undefined {
		const isKnown =
			place.kind === 'api'
				? [...FEEDS, ...WRITES].includes(place.name) || Object.hasOwn(this.#reads, place.name)
				: place.kind !== 'none'
		return isKnown ? undefined : notFound()
	}

	async #find(
		place: Place,
		exchange: Exchange,
		access: Access,
		query: Readonly<Record<string, string>>,
	): Promise<Answer> {
		const { request } = exchange
		if (place.kind === 'page') return this.#files.page(request)
		if (place.kind === 'redirect') return respond(302, { ...NOT_STORED, location: place.location }, null)
		if (place.kind === 'asset') return this.#files.asset(request, place.name)
		if (place.kind === 'none') return notFound()
		if (WRITES.includes(place.name)) return this.#write(place.name, exchange, access)
		if (place.name === 'overview') return respondJson(request, await this.#feed.read(access))
		if (place.name === 'stream') return this.#stream(request, access)
		return this.#reads[place.name]?.(query) ?? notFound()
	}

	#stream({ method, signal }: Request, access: Access): Response | Rejection {
		if (method === 'HEAD') return respond(200, STREAM, null)
		const stream = this.#feed.open(access, signal)
		if (stream) return respond(200, STREAM, stream)
		return new Rejection(503, 'too-many-streams', 'Too many pages are open. This page polls instead.', {
			'retry-after': '5',
		})
	}

	async #write(name: string, exchange: Exchange, access: Access): Promise<Answer> {
		const rejection = checkWrite(exchange.request, access)
		if (rejection) return rejection
		const body = await exchange.readBody()
		if (body instanceof Rejection) return body
		const action = readAction(body.value)
		if (action instanceof Rejection) return action
		if (name === 'action') return this.#act(action, exchange)
		return isOfCircuit(action)
			? invalid(`The action "${action.action}" has no plan.`)
			: this.#queue.plan(action)
	}

	async #act(action: Action, exchange: Exchange): Promise<object> {
		const { runtime } = this.#settings
		const by = await this.#actorOf(exchange).catch((error) => this.#failed(error))
		if (by instanceof Rejection) return by
		// Closed since the request began: nothing would release a circuit that is isolated now.
		if (this.#isClosed) return closed()
		const at = runtime.wallNow()
		try {
			const result = await (isOfCircuit(action)
				? this.#live.run(action, { by })
				: this.#queue.run(action, { by }))
			this.#record({ at, by, action })
			return result
		} catch (error) {
			// What no half understands is no action.
			if (!isInvalid(error)) this.#record({ at, by, action, error: this.#messageOf(error) })
			throw error
		} finally {
			this.#feed.refresh()
		}
	}

	async #actorOf({ request, native }: Exchange): Promise<string | Rejection> {
		const { actor, runtime } = this.#settings
		if (!actor) return 'dashboard'
		const by: unknown = await withTimeLimit('actor', () => actor(request, native), request, runtime)
		if ((typeof by === 'string' && by !== '') || by instanceof Rejection) return by
		throw new TypeError('actor must return a text that is not empty')
	}

	#record(record: DashboardAction): void {
		const { onAction } = this.#settings
		if (onAction) notify('onAction', onAction, record)
	}

	#messageOf(error: unknown): string {
		return this.#settings.redact(safeMessage(error), 'error')
	}

	#failure(error: unknown): Response {
		const code = String(safeGet(error, 'code'))
		if (isInvalid(error)) return respondRejected(invalid(this.#messageOf(error)))
		// Errors of the package are written for its users, except for those that quote a database.
		if (/^YAOKI_(?!.*_STORE$)/.test(code))
			return respondRejected(new Rejection(409, 'failed', this.#messageOf(error)))
		return respondRejected(this.#failed(error))
	}

	/** The error is for the log only. Errors of `authorize` are for no client, also those of the package. */
	#failed(error: unknown): Rejection {
		this.report(error)
		return new Rejection(500, 'failed', FAILED)
	}
}

const closed = (): Rejection => new Rejection(503, 'closed', 'The dashboard is closed.')

const isInvalid = (error: unknown): boolean =>
	['YAOKI_INVALID_ARGUMENT', 'YAOKI_INVALID_OPTION'].includes(String(safeGet(error, 'code')))

function wrongMethod(place: Place, method: string): Rejection | undefined {
	const allow = place.kind === 'api' && WRITES.includes(place.name) ? ['POST'] : ['GET', 'HEAD']
	if (allow.includes(method)) return undefined
	const methods = allow.join(', ')
	return new Rejection(405, 'method', `The path accepts ${methods}.`, { allow: methods })
}
