/** Compiles a program that uses every entry with the oldest supported TypeScript, in each way that a project can resolve modules. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, readJson, run } from '../tools.ts'
import { installIn } from './processes.ts'
import type { Runtime, Site } from './runtime.ts'

const HOME = join(ROOT, 'test', 'typescript-oldest')
const TYPESCRIPT = join(HOME, 'node_modules', 'typescript')

export const installTypeScript = (): void => installIn(HOME)

/** The type of the package's modules, and the compiler options. */
const PROJECTS: Readonly<Record<string, readonly [type: string, options: object]>> = {
	'an ES module (nodenext)': ['module', { module: 'nodenext' }],
	'CommonJS (node16)': ['commonjs', { module: 'node16' }],
	'CommonJS (node10)': ['commonjs', { module: 'commonjs', moduleResolution: 'node10' }],
	'a bundled program (bundler)': ['module', { module: 'esnext', moduleResolution: 'bundler' }],
}

const PROGRAM = `
import { circuitBreaker, explain, type Policy, pipeline, retry, timeout } from 'yaoki'
import { parseServiceConfig, type ServiceConfig } from 'yaoki/grpc'
import { resilientFetch, ResilientHttpClient } from 'yaoki/http'
import { type IdempotencyEngine, idempotency, memoryIdempotencyStore } from 'yaoki/idempotency'
import { idempotencyStoreConformance } from 'yaoki/idempotency/testing'
import { withAmbientContext } from 'yaoki/node'
import { type Message, Outbox, Relay, sqliteOutboxStore } from 'yaoki/outbox'
import type { OutboxStore } from 'yaoki/outbox/store'
import * as conformance from 'yaoki/outbox/testing'
import { type Scenario, simulate } from 'yaoki/sim'
import { toSVG } from 'yaoki/sim/report'
import { type Exporter, inMemoryMetrics, observe } from 'yaoki/telemetry'
import { eventLog } from 'yaoki/telemetry/node'
import { virtualRuntime } from 'yaoki/testing'
import { type VerifiedWebhook, verifyWebhook, type WebhookRequest } from 'yaoki/webhooks'

const policy: Policy = pipeline(circuitBreaker({ name: 'api' }), retry({ maxRetries: 2 }), timeout(1_000))
export const answer: Promise<number> = policy.execute(async ({ signal }) => (signal.aborted ? 0 : 42))
export const attempts: number | undefined = explain(new Error('failed'))?.attempts.length
export const response: Promise<Response> = resilientFetch()('https://example.com')
export const config: ServiceConfig = parseServiceConfig({ methodConfig: [] })
export const store: OutboxStore = sqliteOutboxStore('shop.db')
export const relay = new Relay(new Outbox({ store }), {
	destinations: { order: { deliver: async (message: Message) => void message.payload } },
})
export const engine: IdempotencyEngine = idempotency({ store: memoryIdempotencyStore(), principal: () => 'ada' })
const metrics: Exporter = inMemoryMetrics()
export const stop: () => void = observe({ policy, engine, relay }, [metrics, eventLog({ path: 'events.jsonl' })])
export const scenario = (given: Scenario) => simulate(given)
export const receive = (request: WebhookRequest | Request): Promise<VerifiedWebhook> => verifyWebhook(request, 'whsec_')
export { conformance, idempotencyStoreConformance, ResilientHttpClient, toSVG, virtualRuntime, withAmbientContext }
// @ts-expect-error the options are typed
retry({ maxRetries: 'two' })
`

export const withTypeScript: Runtime = {
	name: 'TypeScript',
	async run({ home }: Site) {
		const failed = Object.entries(PROJECTS).flatMap(([name, [type, options]]) => {
			const folder = join(home, `typescript-${Object.keys(PROJECTS).indexOf(name)}`)
			mkdirSync(folder, { recursive: true })
			writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type }))
			writeFileSync(join(folder, 'program.ts'), PROGRAM)
			const compilerOptions = {
				target: 'es2022',
				lib: ['es2023', 'dom', 'dom.iterable'],
				types: ['node'],
				strict: true,
				noEmit: true,
				typeRoots: [join(HOME, 'node_modules', '@types')],
				...options,
			}
			writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
			const { ok, output } = run(process.execPath, [join(TYPESCRIPT, 'bin', 'tsc'), '-p', folder])
			return ok ? [] : [{ name, error: output }]
		})
		const version = String(readJson(join(TYPESCRIPT, 'package.json'))['version'])
		return { version, passed: Object.keys(PROJECTS).length - failed.length, failed, skipped: [] }
	},
}
