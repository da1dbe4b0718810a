/**
 * Unary calls on loopback that succeed, at concurrency 64. The server and every contender run in their own process; the contenders run in turns,
 * one at a time, and the result is the median of each round's ratio to the bare client.
 */
import { messageOf, start } from './contender-process.ts'
import { bytes, column, type Report } from './figure.ts'
import { BARE, CONTENDERS, YAOKI } from './grpc/contenders.ts'
import { race } from './harness.ts'

const LEAST_RATE = 0.95
const MOST_BYTES = 3 * 1_024

export async function grpc(): Promise<Report> {
	const server = await start('./grpc/server.ts')
	const address = `127.0.0.1:${server.message}`
	const clients = await Promise.all(
		Object.keys(CONTENDERS).map(async (name) => ({
			name,
			...(await start('./grpc/client.ts', name, address)),
		})),
	)
	const ask = async (process: (typeof clients)[number]['process'], what: number | 'weigh') => {
		process.send(what)
		return messageOf(process)
	}
	try {
		const contenders = clients.map(({ name, process }) => ({
			name,
			async run(count: number) {
				await ask(process, count)
			},
		}))
		// Two warm-up rounds are not counted.
		for (const contender of contenders) await contender.run(8_000)
		const rows = await race(contenders, { rounds: 41, count: 1_000 })
		const weights = new Map<string, number>()
		for (const { name, process } of clients) weights.set(name, Number(await ask(process, 'weigh')))
		const weight = (name: string) => weights.get(name) ?? Number.NaN
		const rate = 1 / (rows.find(({ name }) => name === YAOKI)?.ratio ?? Number.NaN)
		const more = weight(YAOKI) - weight(BARE)
		return {
			title: 'gRPC: unary calls a second at concurrency 64, as a ratio to the bare client (more is better)',
			lines: rows.map(({ name, nanoseconds, ratio }) =>
				column(
					name,
					(1 / ratio).toFixed(2),
					`${Math.round(1e9 / nanoseconds).toLocaleString('en-US')}/s`,
					`${bytes(weight(name))} a call`,
				),
			),
			figures: [
				{
					figure: 'gRPC, calls a second to the bare client',
					asked: `at least ${LEAST_RATE}`,
					measured: rate.toFixed(2),
					reached: rate >= LEAST_RATE,
				},
				{
					figure: 'gRPC, bytes a call above the bare client',
					asked: `at most ${bytes(MOST_BYTES)}`,
					measured: bytes(more),
					reached: more <= MOST_BYTES,
				},
			],
			data: { rows, weights: Object.fromEntries(weights) },
		}
	} finally {
		for (const { process } of [server, ...clients]) process.disconnect()
	}
}
