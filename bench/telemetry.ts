/**
 * What telemetry costs a call of four policies that succeeds. "never observed" twice: the difference between the two is what this run cannot
 * distinguish. "observed before" was observed and is no longer. Listeners on cockatiel's policies, for comparison, only count.
 */
import * as otel from '@opentelemetry/api'
import { TimeoutStrategy } from 'cockatiel'
import * as prom from 'prom-client'
import { type Exporter, inMemoryMetrics, logger, observe, openTelemetry, prometheus } from 'yaoki/telemetry'
import { cockatielFour, yaokiFour } from './creation.ts'
import { bytes, column, type Report } from './figure.ts'
import { calling, line, nextLoop, race, ratioOf } from './harness.ts'
import { bytesAllocated } from './weigh.ts'

const ROUNDS = { rounds: 41, count: 20_000 }
const KEYS = 10_000
const MAX_SERIES = 1_000

const work = async () => 1

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

function observed(...exporters: readonly Exporter[]) {
	const payments = yaokiFour()
	const stop = observe({ payments }, exporters)
	return { payments, stop }
}

export async function telemetry(): Promise<Report> {
	const [first, second] = [yaokiFour(), yaokiFour()]
	const before = observed(inMemoryMetrics(), openTelemetry(otel))
	for (let i = 0; i < 1_000; i++) await before.payments.execute(work)
	before.stop()
	const withProm = observed(prometheus(prom, { registry: new prom.Registry() }))
	const withOtel = observed(openTelemetry(otel))
	const withLogger = observed(logger(SILENT))
	const withAll = observed(
		prometheus(prom, { registry: new prom.Registry() }),
		openTelemetry(otel),
		logger(SILENT),
	)
	const listened = yaokiFour()
	listened.subscribe(() => {})
	const cockatiel = cockatielFour(TimeoutStrategy.Cooperative)
	const calls = {
		'never observed': () => first.execute(work),
		'never observed, again': () => second.execute(work),
		'observed before': () => before.payments.execute(work),
		Prometheus: () => withProm.payments.execute(work),
		'OpenTelemetry without an SDK': () => withOtel.payments.execute(work),
		logger: () => withLogger.payments.execute(work),
		'all three': () => withAll.payments.execute(work),
		'a listener of every event': () => listened.execute(work),
		'cockatiel 4, without listeners': () => cockatiel.execute(work),
	}
	const rows = await race(
		Object.entries(calls).map(([name, call]) => calling(name, call)),
		ROUNDS,
	)
	const more = (name: keyof typeof calls) =>
		rows.find((row) => row.name === name)?.moreNanoseconds ?? Number.NaN
	const ratio = (name: keyof typeof calls) => ratioOf(rows, name)
	const [plainBytes, beforeBytes] = [
		await bytesAllocated(calls['never observed']),
		await bytesAllocated(calls['observed before']),
	]
	const noise = Math.abs(ratio('never observed, again') - 1)
	const keys = await seriesOfManyKeys()
	return {
		title: 'Telemetry around four policies and an async function that succeeds',
		lines: [
			...rows.map(line),
			column('bytes allocated, never observed', bytes(plainBytes)),
			column('bytes allocated, observed before', bytes(beforeBytes)),
			column(`${KEYS.toLocaleString('en-US')} keys`, `${keys.series} series`, bytes(keys.retained)),
		],
		figures: [
			{
				figure: 'a call without an observer',
				asked: `no allocation more than one that was never observed (${bytes(plainBytes)})`,
				measured: bytes(beforeBytes),
				reached: beforeBytes <= plainBytes + 16,
			},
			{
				figure: 'a call without an observer',
				asked: `at most 3 %, or the difference of two equal policies in this run (${(noise * 100).toFixed(1)} %), slower`,
				measured: `${((ratio('observed before') - 1) * 100).toFixed(1)} %`,
				reached: ratio('observed before') - 1 <= Math.max(noise, 0.03),
			},
			{
				figure: 'a call with Prometheus',
				asked: 'at most 400 ns more',
				measured: `${more('Prometheus').toFixed(0)} ns`,
				reached: more('Prometheus') <= 400,
			},
			{
				figure: 'a call with OpenTelemetry without an SDK',
				asked: 'at most 600 ns more',
				measured: `${more('OpenTelemetry without an SDK').toFixed(0)} ns`,
				reached: more('OpenTelemetry without an SDK') <= 600,
			},
			{
				figure: `${KEYS.toLocaleString('en-US')} distinct keys`,
				asked: `at most ${MAX_SERIES} series per metric and one "other"`,
				measured: `${keys.series}`,
				reached: keys.series <= MAX_SERIES + 1,
			},
		],
		data: { rows, plainBytes, beforeBytes, keys },
	}
}

/** Every key is a service of its own, as if `service` returned an id by mistake. */
async function seriesOfManyKeys(): Promise<{ readonly series: number; readonly retained: number }> {
	const metrics = inMemoryMetrics({ maxSeries: MAX_SERIES })
	const payments = yaokiFour()
	observe({ payments }, [metrics], { service: ({ key }) => key })
	const call = (key: string) => payments.execute(work, { key })
	for (let i = 0; i < 2_000; i++) await call(`warm-up ${i}`)
	const heldBefore = await heapUsed()
	for (let i = 0; i < KEYS; i++) await call(`key ${i}`)
	const retained = (await heapUsed()) - heldBefore
	const text = await metrics.toPrometheus()
	return {
		series: text.split('\n').filter((row) => row.startsWith('yaoki_attempts_total{')).length,
		retained,
	}
}

async function heapUsed(): Promise<number> {
	await nextLoop()
	globalThis.gc?.()
	return process.memoryUsage().heapUsed
}
