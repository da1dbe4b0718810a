/** A logger that stores its lines. */
interface StoredLine {
	readonly level: string
	readonly message: string
	readonly fields: Readonly<Record<string, unknown>>
}

export function storingLogger() {
	const lines: StoredLine[] = []
	const method = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
		lines.push({ level, message, fields })
	}
	const target = {
		debug: method('debug'),
		info: method('info'),
		warn: method('warn'),
		error: method('error'),
	}
	return { lines, target }
}
