/** Reads the Prometheus text format, strictly: anything unexpected is an error. */

export interface ParsedSample {
	readonly name: string
	readonly labels: Readonly<Record<string, string>>
	readonly value: number
}

export interface ParsedExposition {
	readonly help: ReadonlyMap<string, string>
	readonly types: ReadonlyMap<string, string>
	readonly samples: readonly ParsedSample[]
}

export function parseExposition(text: string): ParsedExposition {
	if (text !== '' && !text.endsWith('\n')) throw new Error('The last line has no line break')
	const help = new Map<string, string>()
	const types = new Map<string, string>()
	const samples: ParsedSample[] = []
	for (const line of text.split('\n').slice(0, -1)) {
		const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) ([a-z_]+) ([^\n]*)$/.exec(line) ?? []
		if (keyword === 'HELP') help.set(name, rest)
		else if (keyword === 'TYPE') types.set(name, rest)
		else samples.push(parseSample(line))
	}
	return { help, types, samples }
}

function parseSample(line: string): ParsedSample {
	const [, name, labels, value] = /^([a-z_]+)\{([^\n]*)\} (\S+)$/.exec(line) ?? []
	if (name === undefined || labels === undefined || value === undefined)
		throw new Error(`Not a sample: ${line}`)
	return { name, labels: parseLabels(labels), value: parseNumber(value) }
}

function parseLabels(text: string): Record<string, string> {
	const labels: Record<string, string> = {}
	let rest = text
	while (rest !== '') {
		const [all, name, value] = /^([a-z_]+)="((?:[^"\\\n]+|\\["\\n])*)"(?:,|$)/.exec(rest) ?? []
		if (all === undefined || name === undefined || value === undefined)
			throw new Error(`Not a label: ${rest}`)
		labels[name] = value.replace(/\\(.)/g, (_, escaped) => (escaped === 'n' ? '\n' : escaped))
		rest = rest.slice(all.length)
	}
	return labels
}

function parseNumber(text: string): number {
	if (text === '+Inf') return Infinity
	if (text === '-Inf') return -Infinity
	const value = Number(text)
	if (Number.isNaN(value) && text !== 'NaN') throw new Error(`Not a number: ${text}`)
	return value
}
