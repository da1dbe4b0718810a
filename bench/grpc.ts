/**
 * Unary calls on loopback that succeed, at concurrency 64. The server and every contender run in their own process; the contenders run in turns,
 * one at a time, and the result of a generation of processes is the median of each round's ratio to the bare client.
 */
import { messageOf, start } from './contender-process.ts'
import { bytes, column, type Report } from './figure.ts'
import { BARE, CONTENDERS, YAOKI } from './grpc/contenders.ts'
import { median, type Row, race } from './harness.ts'

const LEAST_RATE = 0.95
const MOST_BYTES = 3 * 1_024

/** Processes of the same program differ, so each contender is started several times. */
const GENERATIONS = 3
/**
 * A round is long enough for several collections of the young generation. One takes as long as a hundred calls and comes every 1,400 calls,
 * so rounds of a thousand calls differ by a tenth, depending on whether they contain one.
 */
const ROUND = 10_000

interface Generation {
	readonly rows: readonly Row[]
	/** Bytes a call, by contender. */
	readonly weights: Readonly<Record<string, number>>
}

/** Weighing takes long and varies little, so one generation does it. */
async function runGeneration(isWeighed: boolean): Promise<Generation> {
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
		const rows = await race(contenders, { rounds: 3, count: ROUND })
		const weights: Record<string, number> = {}
		for (const { name, process } of isWeighed ? clients : [])
			weights[name] = Number(await ask(process, 'weigh'))
		return { rows, weights }
	} finally {
		for (const { process } of [server, ...clients]) process.disconnect()
	}
}

export async function grpc(): Promise<Report> {
	const generations: Generation[] = []
	while (generations.length < GENERATIONS) generations.push(await runGeneration(generations.length === 0))
	const { weights = {} } = generations[0] ?? {}
	const weight = (name: string) => weights[name] ?? Number.NaN
	const rows = Object.keys(CONTENDERS).map((name) => {
		const own = generations.flatMap((generation) => generation.rows.filter((row) => row.name === name))
		const rates = own.map(({ ratio }) => 1 / ratio)
		return {
			name,
			rate: median(rates),
			lowest: Math.min(...rates),
			highest: Math.max(...rates),
			callsPerSecond: 1e9 / median(own.map(({ nanoseconds }) => nanoseconds)),
		}
	})
	const rate = rows.find(({ name }) => name === YAOKI)?.rate ?? Number.NaN
	const more = weight(YAOKI) - weight(BARE)
	return {
		title: 'gRPC: unary calls a second at concurrency 64, as a ratio to the bare client (more is better)',
		lines: rows.map(({ name, rate, lowest, highest, callsPerSecond }) =>
			column(
				name,
				rate.toFixed(2),
				`${lowest.toFixed(2)} to ${highest.toFixed(2)}`,
				`${Math.round(callsPerSecond).toLocaleString('en-US')}/s`,
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
		data: { rows, weights },
	}
}
