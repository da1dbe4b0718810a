/** Makes values that tell which making they came from: `a#1`, then `a#2`. */
export function numbered(): (key: string) => string {
	let made = 0
	return (key) => `${key}#${++made}`
}
