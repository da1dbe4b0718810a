/**
 * Throughput compared with other clients, on loopback, at concurrency 64. The server and every contender run in their own process,
 * so that they do not share a heap; they run in turns, one at a time, and the result
 * reported is the median of each round's ratio to bare fetch.
 */
import { ResilientHttpClient } from 'yaoki/http'
import { messageOf, start } from './contender-process.ts'
import { column, type Report } from './figure.ts'
import { race } from './harness.ts'
import { CONTENDERS } from './http/contenders.ts'

const rate = (ratio: number): string => `${(1 / ratio).toFixed(2)}`

export async function http(): Promise<Report> {
	const server = await start('./http/server.ts')
	const url = `http://127.0.0.1:${server.message}/`
	const clients = await Promise.all(
		Object.keys(CONTENDERS).map(async (name) => ({ name, ...(await start('./http/client.ts', name, url)) })),
	)
	try {
		const contenders = clients.map(({ name, process }) => ({
			name,
			async run(count: number) {
				process.send(count)
				await messageOf(process)
			},
		}))
		// Two warm-up rounds are not counted.
		for (const contender of contenders) await contender.run(4_000)
		const rows = await race(contenders, { rounds: 41, count: 600 })
		const of = (name: string) => 1 / (rows.find((row) => row.name === name)?.ratio ?? Number.NaN)
		const figure = (name: string, least: number) => ({
			figure: `HTTP, ${name}, requests a second to bare fetch`,
			asked: `at least ${least}`,
			measured: of(name).toFixed(2),
			reached: of(name) >= least,
		})
		return {
			title: 'HTTP: requests a second at concurrency 64, as a ratio to bare fetch (more is better)',
			lines: rows.map(({ name, nanoseconds, ratio }) =>
				column(name, rate(ratio), `${Math.round(1e9 / nanoseconds).toLocaleString('en-US')}/s`),
			),
			figures: [figure('yaoki resilientFetch', 0.93), figure('yaoki client', 0.93)],
			data: rows,
		}
	} finally {
		for (const { process } of [server, ...clients]) process.disconnect()
	}
}

/** How many calls a server that fails sees for each request, when all come concurrently. */
export async function httpBurst(): Promise<Report> {
	const requests = 10_000
	const server = await start('./http/server.ts')
	const url = `http://127.0.0.1:${server.message}`
	try {
		const client = new ResilientHttpClient({
			maxRetries: 3,
			baseDelayMs: 10,
			maxDelayMs: 100,
			circuitBreaker: false,
			bulkhead: { maxConcurrent: 100, maxQueue: requests },
			budget: { maxRetryRatio: 0.1 },
		})
		const get = () =>
			client.get(`${url}/flaky`).then(
				(response) => response.text(),
				() => undefined,
			)
		const answers = await Promise.all(Array.from({ length: requests }, get))
		const seen = Number(await (await fetch(`${url}/seen`)).text())
		const ratio = seen / requests
		const answered = answers.filter((answer) => answer !== undefined).length
		return {
			title: 'HTTP: a burst of 10,000 requests at a server of which 30 % fail, with a budget of 10 %',
			lines: [
				column('calls that the server saw', seen.toLocaleString('en-US')),
				column('requests that were answered', answered.toLocaleString('en-US')),
			],
			figures: [
				{
					figure: 'HTTP, calls for each request of the burst',
					asked: 'at most 1.12',
					measured: ratio.toFixed(3),
					reached: ratio <= 1.12,
				},
			],
			data: { requests, seen, answered },
		}
	} finally {
		server.process.disconnect()
	}
}
