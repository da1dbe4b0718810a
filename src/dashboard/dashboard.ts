/** The dashboard: one handler for web requests, with a mount for every other kind of server. */
import { observationOf } from '../core/observe/observation.ts'
import {
	checkNames,
	invalidOption,
	isObject,
	type OptionSchema,
	readOptions,
} from '../core/options/schema.ts'
import { systemRuntime } from '../core/runtime/system.ts'
import { ProblemReports } from '../telemetry/observe/report.ts'
import { Redactor } from '../telemetry/redact/redactor.ts'
import { createLive } from './live/live.ts'
import type { DashboardOptions } from './options.ts'
import type { LivePart, PartSettings, QueuePart } from './parts.ts'
import { createQueue } from './queue/queue.ts'
import { type DashboardFastifyApp, registerInFastify } from './server/fastify-mount.ts'
import type { MountSettings } from './server/mount.ts'
import { type DashboardNodeRequest, type DashboardNodeResponse, respondToNode } from './server/node-mount.ts'
import { hostAndPid } from './server/process.ts'
import { DashboardServer } from './server/server.ts'
import { type DashboardHonoContext, fetchExchange, honoExchange } from './server/web-mounts.ts'

/**
 * What `dashboard` returns: a handler of web requests (Bun, Deno, Next.js), with properties for other servers. None of them uses `this`, so
 * they can be passed as functions.
 */
export interface Dashboard {
	(request: Request): Promise<Response>
	/** For `node:http`, Express, Connect and NestJS: `app.use('/ops/retries', page.node)`. */
	readonly node: (request: DashboardNodeRequest, response: DashboardNodeResponse) => void
	/** A plugin of Fastify: `app.register(page.fastify, { prefix: '/ops/retries' })`. */
	readonly fastify: (app: DashboardFastifyApp, options: object, done: () => void) => void
	/** For a route of Hono: `app.all('/ops/retries/*', page.hono)`. */
	readonly hono: (c: DashboardHonoContext) => Promise<Response>
	/** Ends streams and jobs, releases circuits that were isolated here, and stops to observe. */
	readonly close: () => Promise<void>
}

/** How the two halves are created. Tests pass others. */
export interface DashboardParts {
	readonly createLive: (things: DashboardOptions['observe'], settings: PartSettings) => LivePart
	readonly createQueue: (things: DashboardOptions['observe'], settings: PartSettings) => QueuePart
	/** True for a dashboard that knows only what the database knows. */
	readonly isDatabaseOnly?: boolean
}

const SCHEMA: OptionSchema = {
	observe: 'any',
	authorize: 'function',
	actor: 'function',
	basePath: 'string',
	payloads: ['shown', 'hidden'],
	redact: 'function',
	maxFailedCalls: [1, 100_000, 500, 'integer'],
	onAction: 'function',
	runtime: 'any',
}

type Settings = DashboardOptions & Pick<PartSettings, 'payloads' | 'maxFailedCalls'>

/**
 * Creates a page that shows what fails, since when and what it does to callers, with the actions that help. It works under any base path.
 * Without `authorize` it serves this machine only, and not through the fetch handler, which does not know where a request comes from.
 *
 * @example
 * const page = dashboard({
 *   observe: { payments, outbox },
 *   authorize: (request) => (request.headers.get('x-role') === 'operator' ? 'all' : false),
 * })
 * app.use('/ops/retries', page.node)
 */
export function dashboard(options: DashboardOptions): Dashboard {
	return createDashboard(options, { createLive, createQueue })
}

export function createDashboard(options: DashboardOptions, parts: DashboardParts): Dashboard {
	checkNames(options, SCHEMA, 'dashboard')
	const settings = readOptions<Settings>(options, SCHEMA)
	const { observe, runtime = systemRuntime, payloads, maxFailedCalls } = settings
	checkObserved(observe)
	const basePath = readBasePath(settings.basePath)
	const redactor = new Redactor(settings.redact, new ProblemReports('dashboard'))
	const redact: PartSettings['redact'] = (text, field) => redactor.text(text, field)
	const forParts = { runtime, redact, payloads, maxFailedCalls, ...hostAndPid() }
	const { isDatabaseOnly = false } = parts
	const server = new DashboardServer(
		parts.createLive(observe, forParts),
		parts.createQueue(observe, forParts),
		{
			...settings,
			runtime,
			redact,
			isDatabaseOnly,
		},
	)
	const mount: MountSettings = {
		basePath,
		respond: (exchange) => server.respond(exchange),
		report: (error) => server.report(error),
	}
	return Object.assign((request: Request) => server.respond(fetchExchange(request, mount)), {
		node: (request: DashboardNodeRequest, response: DashboardNodeResponse) =>
			respondToNode(request, response, request, mount),
		fastify: (app: DashboardFastifyApp, _options: object, done: () => void) => {
			registerInFastify(app, mount)
			done()
		},
		hono: (c: DashboardHonoContext) => server.respond(honoExchange(c, mount)),
		close: () => server.close(),
	})
}

function checkObserved(observe: unknown): void {
	if (!isObject(observe))
		invalidOption('observe', observe, 'an object with what is shown, such as { payments }')
	for (const [name, thing] of Object.entries(observe))
		if (!observationOf(thing))
			invalidOption(
				`observe.${name}`,
				thing,
				'a policy, client, relay, outbox, inbox, webhooks or idempotency engine',
			)
}

/** Returns the path without a slash at its end. */
function readBasePath(basePath: string | undefined): string | undefined {
	if (basePath !== undefined && !/^\/[^?#]*$/.test(basePath))
		invalidOption('basePath', basePath, "a path such as '/ops/retries'")
	return basePath?.endsWith('/') ? basePath.slice(0, -1) : basePath
}
