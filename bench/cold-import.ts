/**
 * The time that an import adds to the start of a process. Every figure is the median over many fresh processes, in turn with processes that
 * import nothing, and relative to those: machines differ, and the figures are given for one on which Node alone takes 30 ms.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { column, type Report } from './figure.ts'
import { median } from './harness.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROUNDS = 31
const BARE_MS = 30

/** The milliseconds that an entry may add, and peers for comparison. */
const MOST_MS: Readonly<Record<string, number>> = { yaoki: 12, 'yaoki/http': 16, 'yaoki/outbox': 45 }
const OTHERS = [
	'yaoki/sim',
	'yaoki/testing',
	'p-retry',
	'cockatiel',
	'opossum',
	'ky',
	'got',
	'undici',
	'pg-boss',
]

function milliseconds(program: string): number {
	const from = process.hrtime.bigint()
	const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
		cwd: HERE,
		encoding: 'utf8',
	})
	if (status !== 0) throw new Error(stderr)
	return Number(process.hrtime.bigint() - from) / 1e6
}

export async function coldImport(): Promise<Report> {
	const names = [...Object.keys(MOST_MS), ...OTHERS]
	const bare: number[] = []
	const added = new Map(names.map((name) => [name, [] as number[]]))
	for (let round = 0; round < ROUNDS; round++) {
		const start = milliseconds('')
		bare.push(start)
		for (const [name, times] of added) times.push(milliseconds(`import ${JSON.stringify(name)}`) - start)
	}
	const bareMs = median(bare)
	const scaled = new Map([...added].map(([name, times]) => [name, (median(times) / bareMs) * BARE_MS]))
	const figures = Object.entries(MOST_MS).map(([name, most]) => {
		const ms = scaled.get(name) ?? Infinity
		return {
			figure: `import '${name}'`,
			asked: `at most ${most} ms where bare Node takes ${BARE_MS}`,
			measured: `${ms.toFixed(1)} ms`,
			reached: ms <= most,
		}
	})
	return {
		title: `Cold import (bare Node: ${bareMs.toFixed(1)} ms; the added time as if it were ${BARE_MS})`,
		lines: [...scaled].map(([name, ms]) =>
			column(name, `+${ms.toFixed(1)} ms`, `${(1 + ms / BARE_MS).toFixed(2)} x`),
		),
		figures,
		data: { bareMs, addedMs: Object.fromEntries(scaled) },
	}
}
