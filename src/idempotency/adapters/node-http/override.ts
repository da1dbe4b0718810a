/** Makes a property of an object read as `value`, whatever it is set to. Returns a function that ends this. */
export function override(target: object, name: string, value: unknown): () => void {
	const own = Object.getOwnPropertyDescriptor(target, name)
	let latest = own?.value
	Object.defineProperty(target, name, {
		configurable: true,
		enumerable: own?.enumerable ?? false,
		get: () => value,
		set: (given) => {
			latest = given
		},
	})
	return () => {
		Reflect.deleteProperty(target, name)
		if (own) Object.defineProperty(target, name, 'value' in own ? { ...own, value: latest } : own)
	}
}
