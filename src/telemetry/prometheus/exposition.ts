/** Prometheus text format 0.0.4. */
import type { MetricReading, Sample } from './reading.ts'

/** Returns the metrics as text. Those without values are left out. */
export function toExposition(readings: readonly MetricReading[]): string {
	return readings
		.filter(({ samples }) => samples.length > 0)
		.flatMap(({ name, definition: { help, type }, samples }) => [
			`# HELP ${name} ${escapeHelp(help)}`,
			`# TYPE ${name} ${type}`,
			...samples.map(toLine),
		])
		.map((line) => `${line}\n`)
		.join('')
}

function toLine({ name, labels, value }: Sample): string {
	const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeValue(`${text}`)}"`)
	return `${name}{${pairs.join(',')}} ${toNumber(value)}`
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

const escapeValue = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

const toNumber = (value: number): string =>
	Number.isFinite(value) || Number.isNaN(value) ? `${value}` : value > 0 ? '+Inf' : '-Inf'
