// Paints pictures on the GPU with the shaders of a program, see program.py.

// Returns FP32 numbers from FP16 numbers, as the files of weights have them.
function fromHalf(halves) {
  return Float32Array.from(halves, (half) => {
    const sign = half & 0x8000 ? -1 : 1;
    const exponent = (half >> 10) & 31;
    const fraction = half & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return exponent
      ? sign * 2 ** (exponent - 25) * (1024 + fraction)
      : sign * 2 ** -24 * fraction;
  });
}

// Returns FP16 numbers from FP32 numbers, rounded to the nearest, ties to even.
function toHalf(floats) {
  const bits = new Uint32Array(Float32Array.from(floats).buffer);
  return Uint16Array.from(bits, (bit) => {
    const sign = (bit >>> 16) & 0x8000;
    const exponent = ((bit >>> 23) & 255) - 112;
    const fraction = bit & 0x7fffff;
    if (exponent >= 31) return sign | 0x7c00 | (exponent === 143 && fraction ? 512 : 0);
    if (exponent < -10) return sign;
    const whole = exponent > 0 ? (exponent << 23) | fraction : (fraction | 0x800000) >>> (1 - exponent);
    const lost = exponent > 0 ? 0 : (fraction | 0x800000) & ((1 << (1 - exponent)) - 1);
    const rest = whole & 0x1fff;
    const up = rest > 0x1000 || (rest === 0x1000 && (lost || (whole >>> 13) & 1));
    return sign | ((whole >>> 13) + (up ? 1 : 0));
  });
}

// Packs the filters [K, C, R, R] of a layer: transforms both dimensions by `rows`
// [phases, side, R], and orders the result as the shader reads it.
function packed(filters, { outputs, inputs, rows, parts, blocks, positionsFirst }) {
  const taps = rows[0][0].length;
  const side = rows[0].length;
  const phases = rows.length;
  const ofPart = outputs / parts;
  const ofBlock = inputs / blocks;
  const positions = side * side;
  const result = new Float32Array(phases * phases * positions * inputs * outputs);
  for (let k = 0; k < outputs; k++)
    for (let c = 0; c < inputs; c++) {
      const from = (k * inputs + c) * taps * taps;
      const [part, block] = [Math.floor(k / ofPart), Math.floor(c / ofBlock)];
      for (let phase = 0; phase < phases * phases; phase++) {
        const down = rows[Math.floor(phase / phases)];
        const across = rows[phase % phases];
        for (let position = 0; position < positions; position++) {
          const high = down[Math.floor(position / side)];
          const wide = across[position % side];
          let sum = 0;
          for (let y = 0; y < taps; y++) {
            if (high[y] === 0) continue;
            let line = 0;
            for (let x = 0; x < taps; x++) line += wide[x] * filters[from + y * taps + x];
            sum += high[y] * line;
          }
          // [phase or position, part, block, position or 1, input of a block, output of a part]
          const outer = positionsFirst ? position : phase;
          const inner = positionsFirst ? 0 : position;
          const lines = positionsFirst ? 1 : positions;
          const row = ((outer * parts + part) * blocks + block) * lines + inner;
          result[(row * ofBlock + (c % ofBlock)) * ofPart + (k % ofPart)] = sum;
        }
      }
    }
  return result;
}

// Packs [3, C, R, R] and the bias as [C / 4, columns, rows, 3] vectors of four C.
function packedLast(filters, bias, { inputs, side }) {
  const result = new Float32Array(3 * inputs * side * side + 4);
  let to = 0;
  for (let quad = 0; quad < inputs / 4; quad++)
    for (let x = 0; x < side; x++)
      for (let y = 0; y < side; y++)
        for (let color = 0; color < 3; color++)
          for (let lane = 0; lane < 4; lane++) {
            const c = 4 * quad + lane;
            result[to++] = filters[((color * inputs + c) * side + y) * side + x];
          }
  result.set(bias, to);
  return result;
}

// Packs [C] and [C] as [C / 4, 2, 4].
function packedNorm(gamma, beta) {
  const result = new Float32Array(2 * gamma.length);
  for (let c = 0; c < gamma.length; c++) {
    const at = 8 * Math.floor(c / 4) + (c % 4);
    result[at] = gamma[c];
    result[at + 4] = beta[c];
  }
  return result;
}

// Packs a style's file of FP16 numbers. Returns arrays by the names of the program's weights.
function packedStyle(halves, network, half) {
  const numbers = fromHalf(halves);
  const tensor = (name) => {
    const [start, count] = network.tensors[name];
    return numbers.subarray(start, start + count);
  };
  const arrays = {};
  for (const layer of network.layers) {
    const filters = packed(tensor(`${layer.name}.conv2d.weight`), layer);
    // Winograd's filters stay FP32, see kernels/network/webgpu/weights.py.
    arrays[layer.name] = half && !layer.positionsFirst ? toHalf(filters) : filters;
    arrays[layer.norm] = packedNorm(tensor(`${layer.norm}.weight`), tensor(`${layer.norm}.bias`));
  }
  arrays.deconv3 = packedLast(
    tensor("deconv3.conv2d.weight"), tensor("deconv3.conv2d.bias"), network.last,
  );
  return arrays;
}

// Raised where nothing can be painted; the message is for the visitor.
class NoGpu extends Error {}

const NO_WEBGPU =
  "This browser has no WebGPU, so it shows our lake only. " +
  "Recent versions of Chrome, Edge, Safari and Firefox paint your pictures too.";
const NO_ADAPTER =
  "WebGPU finds no GPU in this browser, so it shows our lake only. " +
  "Another browser or device may paint your pictures too.";

const NO_MEMORY = "The GPU has too little memory for this picture.";

// Finds a GPU. Raises NoGpu with a sentence for the visitor.
async function adapter() {
  if (!navigator.gpu) throw new NoGpu(NO_WEBGPU);
  const found = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!found) throw new NoGpu(NO_ADAPTER);
  return found;
}

// A GPU with the shaders of one network.
class Painter {
  static async open(network) {
    const gpu = await adapter();
    const half = gpu.features.has("shader-f16");
    const limits = ["maxStorageBufferBindingSize", "maxBufferSize"];
    const device = await gpu.requestDevice({
      requiredFeatures: half ? ["shader-f16"] : [],
      requiredLimits: Object.fromEntries(limits.map((name) => [name, gpu.limits[name]])),
    });
    const painter = new Painter(device, network, half);
    const { shaders } = painter.program;
    painter.shaders = await Promise.all(shaders.map((shader) => painter.compiled(shader)));
    return painter;
  }

  constructor(device, network, half) {
    this.device = device;
    this.network = network;
    this.half = half;
    this.program = half ? network.halves : network.floats;
    this.plans = new Map(); // by size
    this.styles = new Map(); // by key
  }

  get precision() {
    return this.half ? "FP16" : "FP32";
  }

  layout(accesses) {
    const types = { uniform: "uniform", read: "read-only-storage", write: "storage" };
    return this.device.createBindGroupLayout({
      entries: accesses.map((access, binding) => ({
        binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: types[access] },
      })),
    });
  }

  // Compiles a shader while the browser goes on drawing.
  async compiled({ code, bindings, weights }) {
    const layouts = [this.layout(bindings), ...(weights ? [this.layout([weights])] : [])];
    const pipeline = await this.device.createComputePipelineAsync({
      layout: this.device.createPipelineLayout({ bindGroupLayouts: layouts }),
      compute: { module: this.device.createShaderModule({ code }), entryPoint: "main" },
    });
    return { layouts, pipeline };
  }

  buffer(bytes, usage, data) {
    const size = Math.ceil(bytes / 4) * 4;
    const made = this.device.createBuffer({ size, usage: usage | GPUBufferUsage.COPY_DST });
    if (data) {
      const whole = new Uint8Array(size);
      whole.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      this.device.queue.writeBuffer(made, 0, whole);
    }
    return made;
  }

  // Loads a style's weights, a Uint16Array of FP16 numbers.
  load(key, halves) {
    const arrays = packedStyle(halves, this.network, this.half);
    const uniform = this.program.shaders.some((shader) => shader.weights === "uniform");
    const buffers = {};
    for (const [name, data] of Object.entries(arrays)) {
      const isUniform = name === "deconv3" && uniform;
      const usage = isUniform ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE;
      buffers[name] = this.buffer(data.byteLength, usage, data);
    }
    this.styles.set(key, { buffers, groups: new Map() });
  }

  planned(width, height) {
    const name = `${width}x${height}`;
    const made = this.plans.get(name) ?? this.laidOut(this.program.plan(width, height));
    this.plans.delete(name);
    this.plans.set(name, made); // the last one; the first is the least recently used
    for (const size of this.plans.keys()) if (this.plans.size > 2) this.forget(size);
    return made;
  }

  forget(size) {
    const { buffers, readback } = this.plans.get(size);
    for (const each of [...buffers, readback]) each.destroy();
    this.plans.delete(size);
  }

  laidOut(plan) {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const buffers = plan.buffers.map((bytes) => this.buffer(bytes, usage));
    const bind = (layout, resources) =>
      this.device.createBindGroup({
        layout,
        entries: resources.map((buffer, binding) => ({ binding, resource: { buffer } })),
      });
    const runs = plan.runs.map((run) => {
      const sizes = Uint32Array.from(run.sizes.flat());
      const uniform = this.buffer(sizes.byteLength, GPUBufferUsage.UNIFORM, sizes);
      const shader = this.shaders[run.shader];
      const bound = bind(shader.layouts[0], [uniform, ...run.buffers.map((n) => buffers[n])]);
      return { ...run, ...shader, bound };
    });
    const readback = this.device.createBuffer({
      size: Math.ceil(plan.resultBytes / 4) * 4,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    });
    return { ...plan, buffers, runs, readback, bind };
  }

  weights(style, run, bind) {
    const key = `${run.shader} ${run.weights}`;
    if (!style.groups.has(key))
      style.groups.set(key, bind(run.layouts[1], [style.buffers[run.weights]]));
    return style.groups.get(key);
  }

  // Paints RGBA pixels of an ImageData; returns an ImageData of the same size. One call at a time.
  async paint(key, picture) {
    // Else a GPU that refuses a command would give a black picture.
    this.device.pushErrorScope("validation");
    this.device.pushErrorScope("out-of-memory");
    const plan = this.planned(picture.width, picture.height);
    this.submit(plan, this.styles.get(key), picture);
    const errors = [this.device.popErrorScope(), this.device.popErrorScope()];
    const [memory, refusal] = await Promise.all(errors);
    if (memory || refusal) {
      for (const size of this.plans.keys()) this.forget(size);
      throw new Error(memory ? NO_MEMORY : `The GPU refused a command: ${refusal.message}`);
    }
    await plan.readback.mapAsync(GPUMapMode.READ);
    return this.result(plan, picture);
  }

  submit(plan, style, { data, width, height }) {
    const pixels = width * height;
    const colors = new Uint8Array(Math.ceil((3 * pixels) / 4) * 4);
    for (let n = 0, to = 0; n < 4 * pixels; n += 4) {
      colors[to++] = data[n];
      colors[to++] = data[n + 1];
      colors[to++] = data[n + 2];
    }
    this.device.queue.writeBuffer(plan.buffers[plan.picture], 0, colors);
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const run of plan.runs) {
      pass.setPipeline(run.pipeline);
      pass.setBindGroup(0, run.bound);
      if (run.weights) pass.setBindGroup(1, this.weights(style, run, plan.bind));
      pass.dispatchWorkgroups(...run.groups);
    }
    pass.end();
    encoder.copyBufferToBuffer(plan.buffers[plan.result], 0, plan.readback, 0, plan.readback.size);
    this.device.queue.submit([encoder.finish()]);
  }

  // Reads the mapped bytes of a plan, and unmaps them.
  result(plan, { width, height }) {
    const painted = new Uint8Array(plan.readback.getMappedRange());
    const result = new ImageData(width, height);
    const line = Math.ceil(width / 4) * 4 * 3;
    for (let y = 0, to = 0; y < height; y++)
      for (let x = 0, at = y * line; x < width; x++) {
        result.data[to++] = painted[at++];
        result.data[to++] = painted[at++];
        result.data[to++] = painted[at++];
        result.data[to++] = 255;
      }
    plan.readback.unmap();
    return result;
  }
}
