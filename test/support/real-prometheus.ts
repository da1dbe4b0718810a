/** A real Prometheus for tests, on loopback, with its data in a temporary folder. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { deadPort } from '../core/classify/fault-server.ts'
import { end, guard, guardedFolder } from '../guard/guard.ts'

/** Debian's. */
const PROMETHEUS = '/usr/bin/prometheus'
export const PROMTOOL = '/usr/bin/promtool'

/** False where tests with Prometheus are skipped. In CI they fail instead, so that none is skipped unnoticed. */
export const HAS_PROMETHEUS: boolean =
	(existsSync(PROMETHEUS) && existsSync(PROMTOOL)) || Boolean(process.env['CI'])

/** A value of an instant query. */
interface Sample {
	readonly metric: Readonly<Record<string, string>>
	readonly value: number
}

interface AlertState {
	readonly name: string
	readonly health: string
	readonly state: string
}

export interface RealPrometheus extends AsyncDisposable {
	readonly url: string
	/** Runs an instant query, at a time in seconds or now. Rejects with the error of Prometheus. */
	query(expression: string, time?: number): Promise<readonly Sample[]>
	alerts(): Promise<readonly AlertState[]>
	/**
	 * Waits until every target was scraped after this moment. Returns the times of the scrapes by job. A query at that time does not depend on
	 * later scrapes, which may fail on a busy machine: all series of a target end with a failed scrape.
	 */
	scraped(): Promise<Readonly<Record<string, number>>>
}

/** Returns a query of the dashboard for the job "shop", without the variables of Grafana. */
export const withoutVariables = (query: string, window: string): string =>
	query
		.replaceAll(/\$__(?:rate_interval|interval|range)/g, window)
		.replaceAll('"$job"', '"shop"')
		.replaceAll('"$service"', '".*"')

/** The longest wait for a condition. A test fails after it. */
const PATIENCE = { timeout: 250_000, interval: 100 }

/** Starts Prometheus. `targets`: the ports to scrape, by job. `rules`: a rule file. */
export async function startPrometheus(
	targets: Readonly<Record<string, number>>,
	rules: string,
): Promise<RealPrometheus> {
	const folder = await guardedFolder('yaoki-prometheus-')
	const home = folder.path
	const url = `http://127.0.0.1:${await deadPort()}`
	await writeFile(join(home, 'rules.yml'), rules)
	await writeFile(join(home, 'config.yml'), JSON.stringify(configOf(targets)))
	let output = ''
	const server = spawn(
		PROMETHEUS,
		[
			`--config.file=${join(home, 'config.yml')}`,
			`--storage.tsdb.path=${join(home, 'data')}`,
			`--web.listen-address=${new URL(url).host}`,
			'--log.level=warn',
		],
		{ stdio: ['ignore', 'pipe', 'pipe'] },
	)
	guard(server)
	for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => (output += chunk))
	const failed = once(server, 'error').then(([error]) => {
		output += error
	})
	const stop = async () => {
		await end(server)
		await folder[Symbol.asyncDispose]()
	}
	const get = async (path: string, parameters: Readonly<Record<string, string>> = {}) => {
		const response = await fetch(`${url}${path}`, { method: 'POST', body: new URLSearchParams(parameters) })
		const { data, error } = (await response.json()) as { data: unknown; error?: string }
		if (error !== undefined) throw new Error(`${error}\n${Object.values(parameters).join('\n')}`)
		return data
	}
	const query: RealPrometheus['query'] = async (expression, time) => {
		const at = time === undefined ? {} : { time: String(time) }
		const { result } = (await get('/api/v1/query', { query: expression, ...at })) as {
			result: readonly { metric: Record<string, string>; value: readonly [number, string] }[]
		}
		return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }))
	}
	try {
		await Promise.race([
			vi.waitFor(async () => expect((await fetch(`${url}/-/ready`)).status).toBe(200), PATIENCE),
			Promise.race([failed, once(server, 'exit')]).then(() => {
				throw new Error(`prometheus did not start:\n${output}`)
			}),
		])
	} catch (error) {
		await stop()
		throw error
	}
	return {
		url,
		query,
		async alerts() {
			const response = await fetch(`${url}/api/v1/rules`)
			const { data } = (await response.json()) as {
				data: { groups: readonly { rules: readonly AlertState[] }[] }
			}
			return data.groups.flatMap((group) => group.rules)
		},
		async scraped() {
			const since = Date.now() / 1_000
			return vi.waitFor(async () => {
				// Not `timestamp(up == 1)`, which is the time of the query.
				const scrapes = (await query('timestamp(up) and up == 1')).filter(({ value }) => value > since)
				expect(scrapes).toHaveLength(Object.keys(targets).length)
				return Object.fromEntries(scrapes.map(({ metric, value }) => [metric['job'], value]))
			}, PATIENCE)
		},
		[Symbol.asyncDispose]: stop,
	}
}

/** As JSON, which is valid YAML. */
const configOf = (targets: Readonly<Record<string, number>>) => ({
	global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '1s' },
	rule_files: ['rules.yml'],
	scrape_configs: Object.entries(targets).map(([job, port]) => ({
		job_name: job,
		honor_labels: true,
		static_configs: [{ targets: [`127.0.0.1:${port}`] }],
	})),
})
