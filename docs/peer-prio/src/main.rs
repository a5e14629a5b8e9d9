//! Runs libprio-rs in a process of its own. A line "CASE RUNS" asks for times, and is answered by
//! {"seconds": S, "peak_bytes": 0}, S a run. Cases are split/bits=768, split/cells=1024, split/cells=32768, and the same of
//! start: a leader's part of verifying. Chunks are those of the Go benchmark that asks.
//!
//! A line "device" or "aggregator" with the words of `Asked` asks for that part of Prio3. It is answered by bytes in hex by
//! name, {"refused": "..."} where a report is not valid.

use prio::codec::{Encode, ParameterizedDecode};
use prio::vdaf::prio3::Prio3;
use prio::vdaf::{Aggregator, Client, VerifyTransition};
use std::error::Error;
use std::hint::black_box;
use std::io::{stdin, BufRead};
use std::time::Instant;

const CONTEXT: &[u8] = b"benchmark";
const NONCE: [u8; 16] = [1; 16];

fn time<V>(vdaf: V, measurement: V::Measurement, split: bool, runs: u32) -> f64
where
    V: Client<16> + Aggregator<32, 16, AggregationParam = ()>,
{
    let (public, shares) = vdaf.shard(CONTEXT, &measurement, &NONCE).unwrap();
    let begin = Instant::now();
    for _ in 0..runs {
        if split {
            black_box(vdaf.shard(CONTEXT, &measurement, &NONCE).unwrap());
        } else {
            black_box(vdaf.verify_init(&[2; 32], CONTEXT, 0, &(), &NONCE, &public, &shares[0]).unwrap());
        }
    }
    begin.elapsed().as_secs_f64() / f64::from(runs)
}

/// What a part is asked with, one word each; "-" for none, and bytes in hex.
struct Asked<'a> {
    part: &'a str,
    circuit: &'a str,
    length: usize,
    bound: usize,
    chunk: usize,
    context: Vec<u8>,
    key: [u8; 32],
    nonce: [u8; 16],
    vector: Vec<usize>,
    aggregator: usize,
    public: Vec<u8>,
    share: Vec<u8>,
    other: Vec<u8>,
}

fn bytes(hex: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    if hex == "-" {
        return Ok(Vec::new());
    }
    (0..hex.len()).step_by(2).map(|i| Ok(u8::from_str_radix(&hex[i..i + 2], 16)?)).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

impl<'a> Asked<'a> {
    fn read(line: &'a str) -> Result<Self, Box<dyn Error>> {
        let words: Vec<&str> = line.split(' ').collect();
        let [part, circuit, length, bound, chunk, context, key, nonce, vector, aggregator, public, share, other] = words[..] else {
            return Err("thirteen words are asked for".into());
        };
        Ok(Asked {
            part,
            circuit,
            length: length.parse()?,
            bound: bound.parse()?,
            chunk: chunk.parse()?,
            context: bytes(context)?,
            key: bytes(key)?.try_into().map_err(|_| "a key of 32 bytes is asked for")?,
            nonce: bytes(nonce)?.try_into().map_err(|_| "a nonce of 16 bytes is asked for")?,
            vector: vector.split(',').filter(|x| *x != "-").map(|x| x.parse()).collect::<Result<_, _>>()?,
            aggregator: aggregator.parse()?,
            public: bytes(public)?,
            share: bytes(share)?,
            other: bytes(other)?,
        })
    }
}

fn play<V>(vdaf: V, measurement: V::Measurement, q: &Asked) -> Result<String, Box<dyn Error>>
where
    V: Client<16> + Aggregator<32, 16, AggregationParam = ()>,
{
    if q.part == "device" {
        let (public, shares) = vdaf.shard(&q.context, &measurement, &q.nonce)?;
        let (leader, helper) = (shares[0].get_encoded()?, shares[1].get_encoded()?);
        return Ok(format!(r#"{{"public": "{}", "leader": "{}", "helper": "{}"}}"#, hex(&public.get_encoded()?), hex(&leader), hex(&helper)));
    }
    let public = V::PublicShare::get_decoded_with_param(&vdaf, &q.public)?;
    let share = V::InputShare::get_decoded_with_param(&(&vdaf, q.aggregator), &q.share)?;
    let (state, part) = vdaf.verify_init(&q.key, &q.context, q.aggregator, &(), &q.nonce, &public, &share)?;
    let said = hex(&part.get_encoded()?);
    let other = V::VerifierShare::get_decoded_with_param(&state, &q.other)?;
    let parts = if q.aggregator == 0 { [part, other] } else { [other, part] };
    let message = vdaf.verifier_shares_to_message(&q.context, &(), parts)?;
    let decided = hex(&message.get_encoded()?);
    let VerifyTransition::Finish(out) = vdaf.verify_next(&q.context, state, message)? else {
        return Err("a second round".into());
    };
    Ok(format!(r#"{{"part": "{said}", "message": "{decided}", "out": "{}"}}"#, hex(&out.get_encoded()?)))
}

fn answer(line: &str) -> Result<String, Box<dyn Error>> {
    let q = Asked::read(line)?;
    match q.circuit {
        "histogram" => {
            let one = q.vector.iter().position(|x| *x == 1).unwrap_or(0);
            play(Prio3::new_histogram(2, q.length, q.chunk)?, one, &q)
        }
        "multihot" => {
            let set = q.vector.iter().map(|x| *x == 1).collect();
            play(Prio3::new_multihot_count_vec(2, q.length, q.bound, q.chunk)?, set, &q)
        }
        _ => {
            let numbers = q.vector.iter().map(|x| *x as u128).collect();
            play(Prio3::new_sum_vec(2, q.bound as u128, q.length, q.chunk)?, numbers, &q)
        }
    }
}

fn main() {
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        if line.starts_with("device ") || line.starts_with("aggregator ") {
            println!("{}", answer(&line).unwrap_or_else(|refused| format!("{{\"refused\": {:?}}}", refused.to_string())));
            continue;
        }
        let words: Vec<&str> = line.split([' ', '/', '=']).collect();
        let [step, kind, length, chunk, runs] = words[..] else { panic!("{line}") };
        let (length, chunk) = (length.parse().unwrap(), chunk.parse().unwrap());
        let (split, runs) = (step == "split", runs.parse().unwrap());
        let seconds = match kind {
            "bits" => time(Prio3::new_sum_vec(2, 1, length, chunk).unwrap(), vec![0u128; length], split, runs),
            _ => time(Prio3::new_histogram(2, length, chunk).unwrap(), 1, split, runs),
        };
        println!("{{\"seconds\": {seconds}, \"peak_bytes\": 0}}");
    }
}
