import type { ClientMeter } from './client-meter.ts'
import { Histogram } from './histogram.ts'
import type { ServiceResult, SimulationTotals } from './result.ts'

/** `measuredMs`: the length of the run without its warm-up. */
export function computeTotals(
	measuredMs: number,
	meters: readonly ClientMeter[],
	services: readonly ServiceResult[],
): SimulationTotals {
	const sum = (of: (meter: ClientMeter) => number) => meters.reduce((total, meter) => total + of(meter), 0)
	const [calls, good] = [sum((meter) => meter.calls), sum((meter) => meter.good)]
	const perSecond = (count: number) => (measuredMs > 0 ? (count / measuredMs) * 1_000 : 0)
	const usefulMs = services.reduce((total, service) => total + service.usefulMs, 0)
	const wastedMs = services.reduce((total, service) => total + service.wastedMs, 0)
	const [latency, failureLatency] = [new Histogram(), new Histogram()]
	for (const meter of meters) {
		latency.merge(meter.latency)
		failureLatency.merge(meter.failureLatency)
	}
	return {
		offeredPerSecond: perSecond(calls),
		goodputPerSecond: perSecond(good),
		goodShare: calls === 0 ? 0 : good / calls,
		amplification: Math.max(0, ...services.map((service) => service.amplification)),
		retries:
			sum((meter) => meter.requests - meter.callsSent) +
			services.reduce((total, { retries }) => total + retries, 0),
		wastedShare: usefulMs + wastedMs === 0 ? 0 : wastedMs / (usefulMs + wastedMs),
		lastResponseAtMs: Math.max(0, ...meters.map((meter) => meter.lastResponseAt)),
		latency: latency.summary,
		failureLatency: failureLatency.summary,
	}
}
