/**
 * Runs the suite in workerd, the runtime of Cloudflare Workers, as a Worker (test/runtimes/worker.js); then calls of several requests that
 * share policies. There a timer and a promise belong to the request that created them, and end with it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { guard } from '../../test/guard/guard.ts'
import { ROOT } from '../tools.ts'
import type { Outcome, Runtime, Site } from './runtime.ts'

/** The binary of this system. The package `workerd` itself cannot be locked where a binary of another system is missing. */
const PACKAGE = `workerd-${process.platform}-${process.arch === 'x64' ? '64' : process.arch}`
export const WORKERD: string = join(
	ROOT,
	'test',
	'runtimes',
	'node_modules',
	'@cloudflare',
	PACKAGE,
	'bin',
	'workerd',
)
/** The newest date that the pinned version knows. */
export const COMPATIBILITY_DATE = '2026-11-01'
/** The oldest date with which `fetch` accepts `cache`. `FinalizationRegistry` (2025-05-05) and `MessageChannel` (2025-08-15) are missing. */
const OLDEST_DATE = '2024-11-11'

export const inWorkerd: readonly Runtime[] = [OLDEST_DATE, COMPATIBILITY_DATE].map((date) => ({
	name: 'workerd',
	missing: `@cloudflare/${PACKAGE} is not installed (npm ci in test/runtimes)`,
	async run(site) {
		if (!existsSync(WORKERD)) return undefined
		const worker = await startWorker(site, date)
		try {
			const { value } = await worker.ask('suite')
			const outcome = value as Outcome
			const failed = [...outcome.failed]
			for (const [name, check] of Object.entries(SHARED)) {
				const error = await check(worker.ask).then(() => undefined, String)
				if (error !== undefined) failed.push({ name, error })
			}
			const passed = outcome.passed + outcome.failed.length + Object.keys(SHARED).length - failed.length
			return { version: date, passed, failed, skipped: outcome.skipped }
		} finally {
			worker.stop()
		}
	},
}))

/** The response of the Worker to one request. */
interface Answer {
	readonly value?: unknown
	/** The name of the error that the call threw. */
	readonly error?: string
}

type Ask = (call: string) => Promise<Answer>

/** What requests must not do to each other, by calls of test/runtimes/worker.js. */
const SHARED: Readonly<Record<string, (ask: Ask) => Promise<void>>> = {
	'a timeout fires after another request has set a timer and ended': async (ask) => {
		await ask('timeout, in time')
		expect(await ask('timeout, too late'), { error: 'TimeoutError' })
	},
	'a timeout fires while another request has the same timeout': async (ask) => {
		const answers = await Promise.all([1, 2, 3].map(() => ask('timeout, too late')))
		for (const answer of answers) expect(answer, { error: 'TimeoutError' })
	},
	'a hedge is sent after another request has set a timer and ended': async (ask) => {
		await ask('hedge, in time')
		expect(await ask('hedge, too late'), { value: 'the second request' })
	},
	'the timeout of a fetch fires after another request has set a timer and ended': async (ask) => {
		expect(await ask('fetch, in time'), { value: 'ok' })
		expect(await ask('fetch, too late'), { error: 'TimeoutError' })
	},
	'a queued call gets the slot that another request frees': async (ask) => {
		const holder = ask('queue, holder')
		await until(async () => (await ask('queue, concurrent')).value === 1)
		expect(await ask('queue, next'), { value: 'has a slot' })
		expect(await holder, { value: 'held' })
	},
	'a queued call is rejected at queueTimeoutMs after the runtime has terminated the holder': async (ask) => {
		expect(await ask('slot, never freed'), { error: 'terminated' })
		expect(await ask('slot'), { error: 'BulkheadRejectedError' })
	},
}

function expect({ value, error }: Answer, expected: Answer): void {
	const [actual, wanted] = [{ value, error }, expected].map((answer) => JSON.stringify(answer))
	if (actual !== wanted) throw new Error(`${actual} instead of ${wanted}`)
}

async function until(isReached: () => Promise<boolean>): Promise<void> {
	while (!(await isReached()));
}

async function startWorker(site: Site, date: string): Promise<{ readonly ask: Ask; stop(): void }> {
	const config = join(site.home, 'worker.capnp')
	writeFileSync(config, configOf(site, date))
	// The third stream reports the port.
	const child = spawn(WORKERD, ['serve', '--control-fd=3', config], {
		stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
	})
	const url = `http://127.0.0.1:${await portOf(guard(child))}/`
	return {
		async ask(call) {
			const body = JSON.stringify({ call, env: site.urls })
			const response = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(60_000) })
			// The runtime terminates a request that can never respond.
			return response.ok ? ((await response.json()) as Answer) : { error: 'terminated' }
		},
		stop: () => child.kill('SIGKILL'),
	}
}

/** Returns the port of a workerd that was started with `--control-fd=3`. */
export async function portOf({ stderr, stdio }: ChildProcess): Promise<number> {
	let log = ''
	stderr?.on('data', (text) => {
		log += text
	})
	for await (const line of createInterface({ input: stdio[3] as Readable })) {
		const { event, port } = JSON.parse(line)
		if (event === 'listen') return port
	}
	throw new Error(`workerd did not start:\n${log}`)
}

/** Lists the modules: an import is resolved like a path, so an entry of the package is a module with its name. */
function configOf({ home, entries }: Site, date: string): string {
	// All of them, also those that need Node: a module is only resolved when another one imports it.
	const files = scriptsIn(home, join('node_modules', 'yaoki', 'dist'))
	const suite = scriptsIn(home, '.').filter((file) => file !== 'main.js' && file !== 'worker.js')
	const modules = ['worker.js', ...suite, ...files].map(
		(file) => `(name = "${posixPath(file)}", esModule = embed "${file}")`,
	)
	for (const [name, file] of entries) modules.push(`(name = "${name}", esModule = "${reexport(name, file)}")`)
	return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
	services = [
		(name = "main", worker = (compatibilityDate = "${date}", modules = [
			${modules.join(',\n\t\t\t')}
		])),
		(name = "internet", network = (allow = ["local"])),
	],
	sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`
}

/** Relative to the module with the name of the entry, such as `yaoki/http`. */
const reexport = (name: string, file: string): string =>
	`export * from '${posix.relative(posix.dirname(name), posix.join('node_modules/yaoki', file)).replace(/^(?!\\.)/, './')}'`

const posixPath = (file: string): string => file.replaceAll(sep, '/')

/** The scripts of a folder of the package with those of its subfolders; of the suite without. */
const scriptsIn = (home: string, folder: string): string[] =>
	readdirSync(join(home, folder), { recursive: folder !== '.', encoding: 'utf8' })
		.filter((file) => file.endsWith('.js'))
		.map((file) => join(folder, file))
